//! The part of the parser that gives names a meaning: variables, functions, methods, macros, `cel.bind`.
//!
//! May import: (nothing of this crate)

use super::Error;
use super::ast::{Expr, Fold, Function, Literal};
use super::functions;
use super::lexer::Token;
use super::parser::{Node, Parser, node};
use super::pattern::Pattern;

const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];
const DEVICE_FIELDS: [&str; 4] = ["driver", "attributes", "capacity", "allowMultipleAllocations"];

impl<'t> Parser<'t> {
    pub(super) fn name(&mut self, name: &'t str) -> Result<Node, Error> {
        if self.accept("(") {
            return self.global(name);
        }
        if RESERVED.contains(&name) || name == "in" {
            return Err(Error::Compile(format!("{name:?} is a reserved word")));
        }
        let local = self.scope.iter().rev().find(|(own, _)| *own == name).map(|(_, slot)| *slot);
        let expr = match (local, name) {
            (Some(slot), _) => Expr::Local(slot),
            (None, "device") => Expr::Device,
            (None, "cel") if self.at_bind() => {
                self.at += 3;
                return self.bind();
            }
            (None, "optional") if self.accept(".") => return self.of_optional(),
            // A namespace of functions or a type, not a variable.
            (None, _) if matches!(self.peek(), Token::Mark("." | "{")) => {
                return Err(Error::Unsupported(format!("the name {name:?}")));
            }
            (None, _) => return Err(Error::Compile(format!("undeclared reference to {name:?}"))),
        };
        Ok(Node { expr, height: 1 })
    }

    fn global(&mut self, name: &str) -> Result<Node, Error> {
        let (mut arguments, height) = self.arguments(")")?;
        if name == "has" {
            return match (arguments.pop(), arguments.is_empty()) {
                (Some(Expr::Select { of, field }), true) => {
                    Ok(Node { expr: Expr::Has { of, field }, height })
                }
                _ => Err(Error::Compile("has() needs one field selection".to_owned())),
            };
        }
        match functions::global(name, arguments.len()) {
            Some(function) => call(function, arguments, height),
            None => Err(Error::Unsupported(format!("the function {name}()"))),
        }
    }

    /// `optional.none()` and `optional.of(…)`, after the dot.
    fn of_optional(&mut self) -> Result<Node, Error> {
        let Token::Name(name) = self.advance() else {
            self.at -= 1;
            return Err(self.unexpected());
        };
        self.expect("(")?;
        let (arguments, height) = self.arguments(")")?;
        match functions::of_optional(name, arguments.len()) {
            Some(function) => call(function, arguments, height),
            None => Err(Error::Unsupported(format!("the function optional.{name}()"))),
        }
    }

    pub(super) fn method(&mut self, of: Node, name: &'t str) -> Result<Node, Error> {
        let fold = match name {
            "all" => Some(Fold::All),
            "exists" => Some(Fold::Exists),
            "exists_one" | "existsOne" => Some(Fold::ExistsOne),
            "filter" => Some(Fold::Filter),
            "map" => Some(Fold::Map),
            _ => None,
        };
        if let Some(fold) = fold {
            return self.fold(fold, of);
        }
        if matches!(name, "optMap" | "optFlatMap") {
            return self.opt_map(of, name == "optFlatMap");
        }
        let (mut arguments, height) = self.arguments(")")?;
        if matches!(name, "or" | "orValue")
            && arguments.len() == 1
            && let Some(otherwise) = arguments.pop()
        {
            let height = height.max(of.height);
            let (of, otherwise) = (of.boxed(), Box::new(otherwise));
            return node(Expr::OrElse { of, otherwise, optional: name == "or" }, height);
        }
        let Some(function) = functions::method(name, arguments.len()) else {
            return Err(Error::Unsupported(format!("the method {name}()")));
        };
        arguments.insert(0, of.expr);
        call(function, arguments, height.max(of.height))
    }

    fn fold(&mut self, fold: Fold, of: Node) -> Result<Node, Error> {
        let slot = self.binder()?;
        let two_names =
            matches!(self.tokens.get(self.at..), Some([(_, Token::Name(_)), (_, Token::Mark(",")), ..]));
        if two_names && fold != Fold::Map {
            return Err(Error::Unsupported("macros with two variables".to_owned()));
        }
        let mut body = self.expression()?;
        let mut keep = None;
        if fold == Fold::Map && self.accept(",") {
            keep = Some(std::mem::replace(&mut body, self.expression()?));
        }
        self.scope.pop();
        self.expect(")")?;
        let height = of.height.max(body.height).max(keep.as_ref().map_or(0, |keep| keep.height));
        let (range, keep, body) = (of.boxed(), keep.map(Node::boxed), body.boxed());
        node(Expr::Fold { fold, slot, range, keep, body }, height)
    }

    fn opt_map(&mut self, of: Node, flat: bool) -> Result<Node, Error> {
        let slot = self.binder()?;
        let body = self.expression()?;
        self.scope.pop();
        self.expect(")")?;
        let height = of.height.max(body.height);
        node(Expr::OptMap { slot, of: of.boxed(), body: body.boxed(), flat }, height)
    }

    /// Whether `.bind(` follows.
    fn at_bind(&self) -> bool {
        matches!(
            self.tokens.get(self.at..),
            Some([(_, Token::Mark(".")), (_, Token::Name("bind")), (_, Token::Mark("(")), ..])
        )
    }

    fn bind(&mut self) -> Result<Node, Error> {
        let Token::Name(name) = self.advance() else {
            self.at -= 1;
            return Err(self.unexpected());
        };
        self.expect(",")?;
        // The name is not in sight of its own value.
        let value = self.expression()?;
        self.expect(",")?;
        let slot = self.declare(name);
        let body = self.expression()?;
        self.scope.pop();
        self.expect(")")?;
        let height = value.height.max(body.height);
        node(Expr::Bind { slot, value: value.boxed(), body: body.boxed() }, height)
    }

    /// Reads `name ,` and declares the name.
    fn binder(&mut self) -> Result<usize, Error> {
        let Token::Name(name) = self.advance() else {
            self.at -= 1;
            return Err(self.unexpected());
        };
        self.expect(",")?;
        Ok(self.declare(name))
    }

    fn declare(&mut self, name: &'t str) -> usize {
        let slot = self.slots;
        self.slots += 1;
        self.scope.push((name, slot));
        slot
    }
}

/// `of.field`.
pub(super) fn select(of: Node, field: &str) -> Result<Node, Error> {
    if matches!(of.expr, Expr::Device) && !DEVICE_FIELDS.contains(&field) {
        return Err(Error::Compile(format!("undefined field {field:?} of device")));
    }
    let height = of.height;
    node(Expr::Select { of: of.boxed(), field: field.into() }, height)
}

/// A call; a literal pattern of `matches` is compiled once, here.
fn call(function: Function, mut arguments: Vec<Expr>, height: usize) -> Result<Node, Error> {
    if function == Function::Matches
        && let [_, Expr::Literal(Literal::Str(pattern))] = arguments.as_slice()
    {
        let pattern = Pattern::compile(pattern)?;
        arguments.truncate(1);
        if let Some(text) = arguments.pop() {
            return node(Expr::Matches { text: Box::new(text), pattern }, height);
        }
    }
    node(Expr::Call { function, arguments }, height)
}
