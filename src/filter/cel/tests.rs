//! What device selectors do, by documented behaviour, and that no text can do harm.

use proptest::prelude::*;

use super::{Attribute, Device, Error, Program, Quantity};

fn card() -> Device {
    let mut device = Device::new("card.example.com", false);
    device.set_attribute("model", Attribute::String("big".into()));
    device.set_attribute("numa", Attribute::Int(0));
    device.set_attribute("card.example.com/healthy", Attribute::Bool(true));
    device.set_attribute("other.example.org/driverVersion", Attribute::Version("1.10.2".into()));
    device.set_attribute("links", Attribute::Strings(vec!["l0".into(), "l1".into()]));
    device.set_capacity("memory", Quantity::parse("80Gi").unwrap());
    device
}

fn eval(text: &str) -> Result<bool, Error> {
    Program::compile(text)?.matches(&card())
}

#[track_caller]
fn holds(text: &str) {
    assert_eq!(eval(text), Ok(true), "{text}");
}

#[track_caller]
fn fails(text: &str) {
    assert!(matches!(eval(text), Err(Error::Runtime(_))), "{text}: {:?}", eval(text));
}

#[track_caller]
fn refused(text: &str) {
    assert!(matches!(eval(text), Err(Error::Compile(_))), "{text}: {:?}", eval(text));
}

#[track_caller]
fn unsupported(text: &str) {
    assert!(matches!(eval(text), Err(Error::Unsupported(_))), "{text}: {:?}", eval(text));
}

#[test]
fn the_device_is_seen_by_driver_attributes_and_capacity() {
    holds(r#"device.driver == "card.example.com""#);
    holds(r#"device.driver == "card.example.com" && device.attributes["card.example.com"].model == "big""#);
    holds(r#"device.attributes["card.example.com"].numa == 0"#);
    holds(r#"device.attributes["card.example.com"]["numa"] == 0"#);
    holds(r#"device.capacity["card.example.com"].memory.compareTo(quantity("40Gi")) >= 0"#);
    holds(r#"device.capacity["card.example.com"].memory == quantity("81920Mi")"#);
    holds(r#"device.attributes["other.example.org"].driverVersion.isGreaterThan(semver("1.9.0"))"#);
    holds("!device.allowMultipleAllocations");
    holds(r#"cel.bind(dra, device.attributes["card.example.com"], dra.healthy && dra.numa < 2)"#);
    holds(r#"device["driver"] == "x" || true"#);
}

#[test]
fn an_unknown_domain_is_an_empty_map_and_a_missing_name_an_error() {
    holds(r#"size(device.attributes["nowhere.example"]) == 0"#);
    holds(r#"device.capacity["nowhere.example"].size() == 0"#);
    holds(r#"!has(device.attributes["nowhere.example"].model)"#);
    holds(r#"!("nowhere.example" in device.attributes)"#);
    holds(r#""card.example.com" in device.attributes && "model" in device.attributes["card.example.com"]"#);
    fails(r#"device.attributes["nowhere.example"].model == "big""#);
    fails(r#"device.attributes["card.example.com"].colour == "red""#);
    fails(r#"device.capacity["card.example.com"].cores == quantity("1")"#);
    holds(r#"!has(device.attributes["card.example.com"].colour)"#);
    holds(r#"has(device.attributes["card.example.com"].colour) ? false : true"#);
}

#[test]
fn a_version_that_does_not_parse_fails_every_expression() {
    let mut device = card();
    device.set_attribute("firmware", Attribute::Version("v1".into()));
    assert!(matches!(Program::compile("true").unwrap().matches(&device), Err(Error::Runtime(_))));
}

#[test]
fn an_operand_that_decides_wins_over_an_error_on_either_side() {
    let missing = r#"device.attributes["x"].y == 1"#;
    holds(&format!("!(({missing}) && false)"));
    holds(&format!("!(false && ({missing}))"));
    holds(&format!("({missing}) || true"));
    fails(&format!("({missing}) || false"));
    fails(&format!("({missing}) && true"));
    holds(&format!("[1, 2].exists(i, i == 2 || ({missing}))"));
    holds("![1, 0, 2].all(i, 4 / i == 4)");
    fails("[1, 0].all(i, 4 / i == 4)");
    fails("true && 1");
}

#[test]
fn macros_run_over_lists_and_keys() {
    holds("[1, 2, 3].all(i, i > 0) && ![1, 2].all(i, i > 1)");
    holds("[1, 2, 3].exists_one(i, i == 2) && ![2, 2].exists_one(i, i == 2)");
    holds("[1, 2, 3].filter(i, i != 2) == [1, 3]");
    holds("[1, 2, 3].map(i, i * i) == [1, 4, 9] && [1, 2, 3].map(i, i > 1, i + 1) == [3, 4]");
    holds(r#"{"a": 1, "b": 2}.map(k, k) == ["a", "b"] && {"a": 1}.all(k, k == "a")"#);
    holds(r#"device.attributes.exists(d, d.endsWith("example.org"))"#);
    holds("[[1], [2, 3]].exists(inner, inner.exists(i, i == 3))");
    holds("[1].exists(i, [2].exists(i, i == 2))");
    holds("[1, 2].map(i, cel.bind(double, i + i, double + 1)) == [3, 5]");
    unsupported("[1].all(i, v, true)");
}

#[test]
fn bound_values_are_computed_on_first_use_only() {
    holds(r#"cel.bind(broken, device.attributes["x"].y, true)"#);
    holds(r#"cel.bind(broken, device.attributes["x"].y, broken == 1 || true)"#);
    fails(r#"cel.bind(broken, device.attributes["x"].y, broken == 1)"#);
}

#[test]
fn list_attributes_take_in_and_includes() {
    holds(r#""l1" in device.attributes["card.example.com"].links"#);
    holds(r#"device.attributes["card.example.com"].links.includes("l0")"#);
    holds(r#"device.attributes["card.example.com"].model.includes("big")"#);
    holds(r#"device.attributes["card.example.com"].links.exists(l, l.startsWith("l"))"#);
    holds(r#"!device.attributes["card.example.com"].links.includes("l7")"#);
}

#[test]
fn quantities_follow_the_examples_of_kubernetes() {
    for text in [
        r"isQuantity('1.3G') && isQuantity('1.3Gi') && !isQuantity('1,3G') && isQuantity('10000k')",
        r"!isQuantity('200K') && !isQuantity('Three') && !isQuantity('Mi')",
        r#"quantity("50000000G").isInteger() && quantity("50k").isInteger()"#,
        r#"quantity("50k").asInteger() == 50000"#,
        r#"quantity("50k").add(quantity("20k")) == quantity("70k")"#,
        r#"quantity("50k").add(20) == quantity("50020")"#,
        r#"quantity("50k").sub(quantity("20k")) == quantity("30k") && quantity("50k").sub(20000) == quantity("30k")"#,
        r#"quantity("50k").add(20).sub(quantity("100k")).sub(-50000) == quantity("20")"#,
        r#"quantity("200M").compareTo(quantity("0.2G")) == 0"#,
        r#"quantity("50M").compareTo(quantity("50Mi")) == -1 && quantity("50Mi").compareTo(quantity("50M")) == 1"#,
        r#"quantity("150Mi").isGreaterThan(quantity("100Mi")) && !quantity("50Mi").isGreaterThan(quantity("100Mi"))"#,
        r#"quantity("50M").isLessThan(quantity("100M")) && !quantity("100M").isLessThan(quantity("50M"))"#,
        r#"quantity("-1").sign() == -1 && sign(quantity("3")) == 1"#,
    ] {
        holds(text);
    }
    fails(r#"quantity("200K") == quantity("1")"#);
    fails(r#"quantity("10E").asInteger() == 1"#);
    fails(r#"quantity("1") == 1"#);
    holds(r#"quantity("1") != 1"#);
    unsupported(r#"quantity("1e40").isInteger()"#);
}

#[test]
fn versions_follow_the_examples_of_kubernetes() {
    holds("isSemver('1.0.0') && !isSemver('hello') && !isSemver('v1.0') && isSemver('v1.0', true)");
    holds(
        r#"semver("1.2.3").compareTo(semver("2.0.0")) == -1 && semver("1.2.3").compareTo(semver("0.1.2")) == 1"#,
    );
    holds(r#"semver("1.2.3").major() == 1 && semver("1.2.3").minor() == 2 && semver("1.2.3").patch() == 3"#);
    holds(
        r#"semver("01.01.01", true) == semver("1.1.1") && semver("1.0.0-rc.1").isLessThan(semver("1.0.0"))"#,
    );
    fails(r#"semver("200K") == semver("1.0.0")"#);
}

#[test]
fn texts_have_the_usual_functions() {
    holds(r#""NVIDIA A100".lowerAscii().matches("^.*a100.*$") && matches("abc", "b")"#);
    holds(r#""abc".startsWith("ab") && "abc".endsWith("bc") && "abc".contains("b") && !"abc".contains("x")"#);
    holds(r#""abc".size() == 3 && size("ää") == 2 && " a ".trim() == "a" && "a,b".split(",") == ["a", "b"]"#);
    holds(r#""a-b".replace("-", "_") == "a_b" && "x".upperAscii() == "X" && "a" + "b" == "ab" && "a" < "b""#);
    holds(r#"'it\'s' == "it's" && r"\d" == "\\d" && "\x41\u0042\103" == "ABC" && '''a"b''' == "a\"b""#);
    holds(
        r#"string(7) + string(true) + string(2u) == "7true2" && int("-4") == -4 && bool("true") && uint("3") == 3u"#,
    );
    unsupported(r#""a".format([1])"#);
    unsupported(r#"b"a" == b"a""#);
    fails(r#"int("x") == 1"#);
    fails(r#""a" + 1 == "a1""#);
}

#[test]
fn numbers_compare_across_types_and_never_wrap() {
    holds("1 == 1u && 1 == 1.0 && 1 < 1.5 && 2u > 1.5 && -1 < 0u && 1.5 > 1 && [1] == [1.0]");
    holds("9223372036854775807 < 9223372036854775807u + 1u && 9223372036854775807 < 9223372036854775808.0");
    holds(
        "-9223372036854775808 < 0 && 0x10 == 16 && 1e3 == 1000.0 && .5 == 0.5 && 7 % 4 == 3 && -7 / 2 == -3",
    );
    holds("1 + 2 * 3 == 7 && (1 + 2) * 3 == 9 && 10 - 4 - 3 == 3 && !!true && - -1 == 1 && 2 - -1 == 3");
    holds(r#"1 != "1" && null == null && 1 != null && int(2.9) == 2 && double(2) == 2.0 && 1 in [1.0]"#);
    holds(
        "1 in {1: true} && {1: 'a'}[1] == 'a' && {'a': {'b': 1}}.a.b == 1 && [1, 2][1] == 2 && [1] + [2] == [1, 2]",
    );
    holds("{'a': 1, 'b': 2} == {'b': 2, 'a': 1} && [] == [] && !([1] == [1, 2])");
    for text in [
        "9223372036854775807 + 1 == 0",
        "1 / 0 == 0",
        "1 % 0 == 0",
        "-(-9223372036854775807 - 1) == 0",
        "1 + 1u == 2",
        "1u - 2u == 0u",
        "[1][1] == 0",
        "{'a': 1}.b == 1",
        "{'a': 1, 'a': 2} == {}",
        "1 < 'a'",
        "int(1e19) == 0",
        "uint(-1) == 0u",
        "0.0 / 0.0 < 1.0",
        "1 ? true : false",
        "!1",
        "-'a' == 'a'",
        "1",
        "size(1) == 1",
        "device.driver.model == 1",
    ] {
        fails(text);
    }
    holds("0.0 / 0.0 != 0.0 / 0.0");
}

#[test]
fn bad_text_names_the_place() {
    for text in [
        "",
        "(",
        "1 +",
        "device.",
        "device.colour == 1",
        "nothing",
        "has(1)",
        "has(device)",
        "'a",
        "\"a\nb\"",
        "1 = 2",
        "9223372036854775808",
        "[1,,2]",
        "f(1,)",
        "1a",
        "[1].all(1, true)",
        "if",
        "true true",
        "@",
        "0x",
        "\"\\q\"",
        "device.driver == 'a' &&",
        "[1].map(i)",
        "?",
        "1 in",
        "'\\uD800' == ''",
        "i == 1 && [1].all(i, true)",
    ] {
        assert!(
            matches!(Program::compile(text), Err(Error::Compile(_))),
            "{text}: {:?}",
            Program::compile(text)
        );
    }
    assert_eq!(
        Program::compile("device.driver ==").unwrap_err().to_string(),
        "CEL compile error: unexpected the end at byte 16"
    );
    refused(&"a".repeat(20_000));
    for text in [
        "optional.ofNonZeroValue(1)",
        "math.greatest(1, 2) == 2",
        "Thing{a: 1}",
        "[?1]",
        "'a'.matches('[[a]]')",
    ] {
        unsupported(text);
    }
}

#[test]
fn optional_values_stand_for_what_may_be_missing() {
    let own = r#"device.attributes["card.example.com"]"#;
    for text in [
        ".?numa.orValue(7) == 0",
        ".?colour.orValue(7) == 7",
        ".?colour.orValue('none') != 'red'",
        ".?model.hasValue() && !x.?colour.hasValue()",
        "[?'model'].value() == 'big'",
        ".?colour == optional.none() && x.?numa == optional.of(0) && x.?numa != x.?colour",
        ".?colour.or(x.?model).value() == 'big'",
        ".?colour.or(x.?shade) == optional.none()",
        ".?model.optMap(m, m + '!').orValue('') == 'big!'",
        ".?colour.optMap(c, c + '!').orValue('') == ''",
        ".?model.optFlatMap(m, x.?numa).value() == 0",
        // What stands for a value is not looked at where the value is there.
        ".?numa.orValue(x.colour) == 0",
        // Selections of an optional value are optional.
        ".?links[0].value() == 'l0' && !x.?links[?5].hasValue()",
    ] {
        holds(&format!("cel.bind(x, {own}, x{text})"));
    }
    holds(r#"!device.attributes["nowhere.example"].?model.hasValue()"#);
    holds(r#"device.attributes[?"card.example.com"].?numa.orValue(7) == 0"#);
    holds("{'a': {'b': 1}}.?a.b.value() == 1 && !{'a': {'b': 1}}.?c.b.hasValue() && !has({'a': 1}.?b.c)");
    fails(&format!("{own}.?colour.value() == 1"));
    fails(&format!("{own}.?colour.orValue({own}.colour) == 1"));
    fails("1.orValue(2) == 1");
}

#[test]
fn comments_and_white_space_do_not_matter() {
    holds("true // whatever\n && \t true");
    refused("true // && \n false");
}

#[test]
fn large_and_deep_expressions_end() {
    let deep = format!("{}true{}", "(".repeat(3_000), ")".repeat(3_000));
    unsupported(&deep);
    unsupported(&format!("1{} == 0", " + 1".repeat(2_000)));
    holds(&format!("true{}", " && true".repeat(1_000)));
    holds(&format!("{}true", "!!".repeat(4_000)));
    // Twenty-eight doublings of a text and of a list would be a quarter of a billion.
    let doubled = |start: &str| {
        let mut text = "d == d".to_owned();
        for _ in 0..28 {
            text = format!("cel.bind(d, d + d, {text})");
        }
        format!("cel.bind(d, {start}, {text})")
    };
    unsupported(&doubled("'a'"));
    unsupported(&doubled("[1]"));
    let mut nested = "d == d".to_owned();
    for _ in 0..28 {
        nested = format!("cel.bind(d, [d, d], {nested})");
    }
    unsupported(&format!("cel.bind(d, [1], {nested})"));
    let ten = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]";
    let mut loops = "true".to_owned();
    for _ in 0..8 {
        loops = format!("{ten}.all(i, {loops})");
    }
    unsupported(&loops);
}

fn fragments() -> impl Strategy<Value = String> {
    let parts = [
        "device",
        ".driver",
        ".attributes",
        "[\"card.example.com\"]",
        ".model",
        "==",
        "!=",
        "<",
        "in",
        "&&",
        "||",
        "!",
        "-",
        "+",
        "*",
        "/",
        "%",
        "?",
        ":",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        "1",
        "0",
        "2u",
        "1.5",
        "'a'",
        "\"b\"",
        "true",
        "false",
        "null",
        "has(",
        ".all(i, ",
        ".exists(i, ",
        ".map(i, ",
        "i",
        "cel.bind(i, ",
        ".size()",
        "size(",
        "quantity('1Gi')",
        ".compareTo(",
        "semver('1.2.3')",
        ".major()",
        ".matches('a+')",
        "//",
        "\n",
        "9223372036854775807",
        "\\",
        "'",
        "\"",
        ".",
        "ä",
        "r'",
        "0x",
        "1e",
        "'\\u'",
        ".capacity",
        ".memory",
        "string(",
        "int(",
        ".split(",
        "@",
    ];
    prop::collection::vec(prop::sample::select(parts.to_vec()), 0..24).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_fragments_of_expressions_panic(text in fragments()) {
        let device = card();
        if let Ok(program) = Program::compile(&text) {
            prop_assert_eq!(program.matches(&device), program.matches(&device));
        }
    }

    #[test]
    fn no_text_panics(text in ".{0,60}") {
        let _ = eval(&text);
        let _ = Quantity::parse(&text);
        let _ = super::Version::parse_tolerant(&text);
    }

    #[test]
    fn quantities_of_any_shape_do_not_panic(text in "[+-]?[0-9]{0,40}\\.?[0-9]{0,40}([numkMGTPE]i?|[eE][+-]?[0-9]{0,12})?") {
        if let Ok(quantity) = Quantity::parse(&text) {
            let _ = (quantity.checked_add(quantity), quantity.checked_sub(quantity), quantity.as_integer());
        }
    }

    #[test]
    fn integer_arithmetic_agrees_with_wide_arithmetic(left in any::<i64>(), right in any::<i64>()) {
        let wide = i128::from(left) + i128::from(right);
        let text = format!("{left} + {right} == {wide}");
        if i64::try_from(wide).is_ok() {
            prop_assert_eq!(eval(&text), Ok(true));
        } else {
            let failed = eval(&format!("{left} + {right} == 0"));
            prop_assert!(failed.is_err());
        }
        prop_assert_eq!(eval(&format!("{left} < {right}")), Ok(left < right));
    }
}
