//! Names of locks: how they are given, and where they are said.

use std::{borrow::Cow, sync::Arc};

use palisade::{AnyLock, Client, Masters};

/// What takes a name takes every form of it, by value or borrowed.
#[test]
fn name_may_be_given_in_any_form() {
    let client = Client::connect_lazy("redis://127.0.0.1:6379").unwrap();
    let (id, owned) = (42, "orders:42".to_owned());
    let (shared, cow): (Arc<str>, _) = (owned.as_str().into(), Cow::Borrowed("orders:42"));
    let locks = [
        client.lock("orders:42"),
        client.lock(&owned),
        client.lock(&shared),
        client.lock(shared),
        client.lock(cow),
        client.lock(format!("orders:{id}")),
    ];
    assert!(locks.iter().all(|lock| lock.name() == owned));

    let masters = Masters::new([client.clone()]).unwrap();
    assert!(has_name(&client.fenced_lock(format!("orders:{id}")), &owned));
    assert!(has_name(&masters.red_lock(format!("orders:{id}")), &owned));
    assert!(has_name(&masters.multi_lock(&owned), &owned));
    assert!(has_name(&masters.fenced_red_lock(owned.clone()), &owned));
    assert!(has_name(&masters.fenced_multi_lock(&*owned), &owned));
    drop(masters.inspect(format!("orders:{id}")));
}

fn has_name(lock: &impl AnyLock, name: &str) -> bool {
    lock.name() == name
}
