//! Answers of any shape, for the tests of whatever reads answers.

use proptest::{
    collection::vec,
    prelude::{Just, Strategy, any, prop_oneof},
    test_runner::{Config, RngSeed, TestRunner},
};
use redis::{PushKind, Value};

/// Checks what is made of many values, the same at every run. A panic is a failure.
pub(crate) fn for_any_answer(check: impl Fn(Value)) {
    let mut config = Config { failure_persistence: None, ..Config::default() };
    if config.rng_seed == RngSeed::Random {
        config.rng_seed = RngSeed::Fixed(20_260_711);
    }
    let ran = TestRunner::new(config).run(&answer(), |value| {
        check(value);
        Ok(())
    });
    ran.unwrap_or_else(|failure| panic!("{failure}"));
}

/// Often integers in an array, which is what scripts answer.
fn answer() -> impl Strategy<Value = Value> {
    prop_oneof![tree(), vec(leaf(), 0..9).prop_map(Value::Array)]
}

fn tree() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(4, 40, 8, |inner| {
        let pair = (inner.clone(), inner.clone());
        let items = vec(inner, 0..8);
        prop_oneof![
            3 => items.clone().prop_map(Value::Array),
            1 => items.clone().prop_map(Value::Set),
            1 => items.prop_map(|data| Value::Push { kind: PushKind::Message, data }),
            1 => vec(pair, 0..4).prop_map(Value::Map),
        ]
    })
}

fn leaf() -> impl Strategy<Value = Value> {
    let number = prop_oneof![any::<i64>(), -7..3_i64, Just(i64::MIN), Just(i64::MAX)];
    prop_oneof![
        8 => number.prop_map(Value::Int),
        3 => any::<i64>().prop_map(|number| Value::BulkString(number.to_string().into())),
        2 => vec(any::<u8>(), 0..50).prop_map(Value::BulkString),
        1 => any::<String>().prop_map(Value::SimpleString),
        1 => any::<f64>().prop_map(Value::Double),
        1 => any::<bool>().prop_map(Value::Boolean),
        1 => Just(Value::Okay),
        1 => Just(Value::Nil),
    ]
}
