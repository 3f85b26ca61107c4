//! Tokens to tree, by precedence climbing. Names are resolved here and macros become nodes of their own.
//!
//! May import: (nothing of this crate)

use super::Error;
use super::ast::{Expr, Literal, Operator};
use super::lexer::{Token, tokens};
use super::names::select;

/// Kubernetes' own limit for a selector.
const MAX_LENGTH: usize = 10 * 1024;
/// Levels of the tree; also bounds the recursion of parser and evaluator.
const MAX_DEPTH: usize = 64;

/// The tree and how many slots its locals need.
pub(super) fn parse(text: &str) -> Result<(Expr, usize), Error> {
    if text.len() > MAX_LENGTH {
        return Err(Error::Compile(format!("longer than {MAX_LENGTH} bytes")));
    }
    let mut parser = Parser { tokens: tokens(text)?, at: 0, scope: Vec::new(), slots: 0, nesting: 0 };
    let root = parser.expression()?;
    match parser.peek() {
        Token::End => Ok((root.expr, parser.slots)),
        _ => Err(parser.unexpected()),
    }
}

/// An expression and the height of its tree.
pub(super) struct Node {
    pub(super) expr: Expr,
    pub(super) height: usize,
}

pub(super) struct Parser<'t> {
    pub(super) tokens: Vec<(usize, Token<'t>)>,
    pub(super) at: usize,
    /// Names in sight, innermost last.
    pub(super) scope: Vec<(&'t str, usize)>,
    pub(super) slots: usize,
    nesting: usize,
}

impl<'t> Parser<'t> {
    pub(super) fn peek(&self) -> &Token<'t> {
        self.tokens.get(self.at).map_or(&Token::End, |(_, token)| token)
    }

    pub(super) fn advance(&mut self) -> Token<'t> {
        let token = self.peek().clone();
        self.at = (self.at + 1).min(self.tokens.len());
        token
    }

    pub(super) fn accept(&mut self, mark: &str) -> bool {
        let found = matches!(self.peek(), Token::Mark(own) if *own == mark);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, mark: &str) -> Result<(), Error> {
        if self.accept(mark) { Ok(()) } else { Err(self.unexpected()) }
    }

    pub(super) fn unexpected(&self) -> Error {
        let what = match self.peek() {
            Token::End => "the end".to_owned(),
            Token::Mark(mark) => format!("{mark:?}"),
            Token::Name(name) => format!("{name:?}"),
            _ => "a literal".to_owned(),
        };
        let at = self.tokens.get(self.at).or(self.tokens.last()).map_or(0, |(at, _)| *at);
        Error::Compile(format!("unexpected {what} at byte {at}"))
    }

    pub(super) fn expression(&mut self) -> Result<Node, Error> {
        self.nesting += 1;
        if self.nesting > MAX_DEPTH {
            return Err(too_deep());
        }
        let test = self.logical("||")?;
        let node = if self.accept("?") {
            let then = self.logical("||")?;
            self.expect(":")?;
            let otherwise = self.expression()?;
            let height = test.height.max(then.height).max(otherwise.height);
            let (test, then, otherwise) = (test.boxed(), then.boxed(), otherwise.boxed());
            node(Expr::Conditional { test, then, otherwise }, height)?
        } else {
            test
        };
        self.nesting -= 1;
        Ok(node)
    }

    /// A chain of one logical operator is one node, whatever its length.
    fn logical(&mut self, mark: &'static str) -> Result<Node, Error> {
        let operand = |parser: &mut Self| if mark == "||" { parser.logical("&&") } else { parser.binary(0) };
        let first = operand(self)?;
        if !matches!(self.peek(), Token::Mark(own) if *own == mark) {
            return Ok(first);
        }
        let mut height = first.height;
        let mut operands = vec![first.expr];
        while self.accept(mark) {
            let next = operand(self)?;
            height = height.max(next.height);
            operands.push(next.expr);
        }
        node(if mark == "||" { Expr::Or(operands) } else { Expr::And(operands) }, height)
    }

    fn operator(&self, level: u8) -> Option<Operator> {
        let (own, operator) = match self.peek() {
            Token::Mark("==") => (0, Operator::Equal),
            Token::Mark("!=") => (0, Operator::NotEqual),
            Token::Mark("<") => (0, Operator::Less),
            Token::Mark("<=") => (0, Operator::LessEqual),
            Token::Mark(">") => (0, Operator::Greater),
            Token::Mark(">=") => (0, Operator::GreaterEqual),
            Token::Name("in") => (0, Operator::In),
            Token::Mark("+") => (1, Operator::Add),
            Token::Mark("-") => (1, Operator::Sub),
            Token::Mark("*") => (2, Operator::Mul),
            Token::Mark("/") => (2, Operator::Div),
            Token::Mark("%") => (2, Operator::Rem),
            _ => return None,
        };
        (own == level).then_some(operator)
    }

    fn binary(&mut self, level: u8) -> Result<Node, Error> {
        if level > 2 {
            return self.unary();
        }
        let mut left = self.binary(level + 1)?;
        while let Some(operator) = self.operator(level) {
            self.at += 1;
            let right = self.binary(level + 1)?;
            let height = left.height.max(right.height);
            left = node(Expr::Binary { operator, left: left.boxed(), right: right.boxed() }, height)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Node, Error> {
        for mark in ["!", "-"] {
            let start = self.at;
            while self.accept(mark) {}
            let mut count = self.at - start;
            if count == 0 {
                continue;
            }
            // The sign belongs to the number: the smallest int cannot be written otherwise.
            let negative = mark == "-";
            let number = match self.peek() {
                Token::Int(value) if negative => Some(Literal::Int(
                    0_i64
                        .checked_sub_unsigned(*value)
                        .ok_or_else(|| Error::Compile("int out of range".to_owned()))?,
                )),
                Token::Double(value) if negative => Some(Literal::Double(-value)),
                _ => None,
            };
            let mut operand = match number {
                Some(literal) => {
                    self.at += 1;
                    count -= 1;
                    self.member(Node { expr: Expr::Literal(literal), height: 1 })?
                }
                None => self.primary_and_members()?,
            };
            // Pairs cancel out, but the operand is still checked to be of the type.
            for _ in 0..if count > 2 { 2 - count % 2 } else { count } {
                let height = operand.height;
                let inner = operand.boxed();
                operand = node(if negative { Expr::Negate(inner) } else { Expr::Not(inner) }, height)?;
            }
            return Ok(operand);
        }
        self.primary_and_members()
    }

    fn primary_and_members(&mut self) -> Result<Node, Error> {
        let primary = self.primary()?;
        self.member(primary)
    }

    fn member(&mut self, mut of: Node) -> Result<Node, Error> {
        loop {
            if self.accept(".") {
                let Token::Name(name) = self.advance() else {
                    self.at -= 1;
                    return Err(self.unexpected());
                };
                of = if self.accept("(") { self.method(of, name)? } else { select(of, name)? };
            } else if self.accept(".?") {
                let Token::Name(name) = self.advance() else {
                    self.at -= 1;
                    return Err(self.unexpected());
                };
                let key = Box::new(Expr::Literal(Literal::Str(name.into())));
                let height = of.height;
                of = node(Expr::Maybe { of: of.boxed(), key }, height)?;
            } else if self.accept("[?") {
                let key = self.expression()?;
                self.expect("]")?;
                let height = of.height.max(key.height);
                of = node(Expr::Maybe { of: of.boxed(), key: key.boxed() }, height)?;
            } else if self.accept("[") {
                let key = self.expression()?;
                self.expect("]")?;
                let height = of.height.max(key.height);
                of = node(Expr::Index { of: of.boxed(), key: key.boxed() }, height)?;
            } else if matches!(self.peek(), Token::Mark("{")) {
                return Err(Error::Unsupported("message literals".to_owned()));
            } else {
                return Ok(of);
            }
        }
    }

    fn primary(&mut self) -> Result<Node, Error> {
        let start = self.at;
        let literal = match self.advance() {
            Token::Int(value) => {
                Literal::Int(i64::try_from(value).map_err(|_| Error::Compile("int out of range".to_owned()))?)
            }
            Token::Uint(value) => Literal::Uint(value),
            Token::Double(value) => Literal::Double(value),
            Token::Str(text) => Literal::Str(text.into()),
            Token::Name("true") => Literal::Bool(true),
            Token::Name("false") => Literal::Bool(false),
            Token::Name("null") => Literal::Null,
            Token::Name(name) => return self.name(name),
            Token::Mark(".") => match self.advance() {
                Token::Name(name) => return self.name(name),
                _ => return Err(self.unexpected()),
            },
            Token::Mark("(") => {
                let inner = self.expression()?;
                self.expect(")")?;
                return Ok(inner);
            }
            Token::Mark("[") => {
                let (elements, height) = self.arguments("]")?;
                return node(Expr::List(elements), height);
            }
            Token::Mark("{") => return self.map(),
            Token::Mark("[?") => return Err(Error::Unsupported("optional elements of lists".to_owned())),
            Token::Mark(_) | Token::End => {
                self.at = start;
                return Err(self.unexpected());
            }
        };
        Ok(Node { expr: Expr::Literal(literal), height: 1 })
    }

    /// Expressions up to the closing mark; lists may end with a comma.
    pub(super) fn arguments(&mut self, close: &str) -> Result<(Vec<Expr>, usize), Error> {
        let (mut arguments, mut height) = (Vec::new(), 0);
        while !self.accept(close) {
            let argument = self.expression()?;
            height = height.max(argument.height);
            arguments.push(argument.expr);
            if !self.accept(",") {
                self.expect(close)?;
                break;
            }
            if close == ")" && matches!(self.peek(), Token::Mark(")")) {
                return Err(self.unexpected());
            }
        }
        Ok((arguments, height))
    }

    fn map(&mut self) -> Result<Node, Error> {
        let (mut entries, mut height) = (Vec::new(), 0);
        while !self.accept("}") {
            let key = self.expression()?;
            self.expect(":")?;
            let value = self.expression()?;
            height = height.max(key.height).max(value.height);
            entries.push((key.expr, value.expr));
            if !self.accept(",") {
                self.expect("}")?;
                break;
            }
        }
        node(Expr::Map(entries), height)
    }
}

impl Node {
    pub(super) fn boxed(self) -> Box<Expr> {
        Box::new(self.expr)
    }
}

/// A node above others of height `below`.
pub(super) fn node(expr: Expr, below: usize) -> Result<Node, Error> {
    if below >= MAX_DEPTH { Err(too_deep()) } else { Ok(Node { expr, height: below + 1 }) }
}

fn too_deep() -> Error {
    Error::Unsupported("the expression is nested too deeply".to_owned())
}
