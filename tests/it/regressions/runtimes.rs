//! A tokio runtime that was built without timers or I/O: tokio panics where it is asked for them.

use palisade::{
    AcquireError, Client, LostCause, Masters, Owner,
    error::{ConfigError, ConnectError, InspectError},
};
use testkit::RedisServer;
use tokio::runtime::{Builder, Runtime};

use crate::support::{HANG, Look, acquired, eventually_blocking, patient, watchdog};

fn whole() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// Runtimes that lack something, with its name.
fn lacking() -> [(Runtime, &'static str); 5] {
    [
        (Builder::new_current_thread().build().unwrap(), "timers"),
        (Builder::new_current_thread().enable_io().build().unwrap(), "timers"),
        (Builder::new_current_thread().enable_time().build().unwrap(), "I/O"),
        (Builder::new_multi_thread().worker_threads(1).build().unwrap(), "timers"),
        (Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap(), "I/O"),
    ]
}

#[track_caller]
fn assert_lacks(error: Option<&ConfigError>, what: &str) {
    let Some(ConfigError::RuntimeLacks { what: named, call, .. }) = error else {
        panic!("{error:?}");
    };
    let text = error.unwrap().to_string();
    assert!(*named == what && text.contains(call) && text.contains("enable_all"), "{text}");
}

fn of_acquire<T>(asked: Result<T, AcquireError>) -> Option<ConfigError> {
    match asked {
        Err(AcquireError::Config(error)) => Some(error),
        _ => None,
    }
}

#[test]
fn runtime_without_timers_or_io_is_refused_before_anything_is_sent() {
    let server = RedisServer::start();
    let lazy = Client::connect_lazy(server.url()).unwrap();
    let masters = Masters::build_with(Client::builder(), [server.url()]).unwrap();
    let (lock, red) = (lazy.lock("x"), masters.red_lock("x"));
    for (runtime, what) in lacking() {
        runtime.block_on(async {
            let refused = [
                of_acquire(lock.acquire().await),
                of_acquire(lock.try_acquire().await),
                of_acquire(lock.try_acquire_for(HANG).await),
                of_acquire(lock.acquire_as(&Owner::new()).await),
                of_acquire(red.acquire().await),
            ];
            for error in refused {
                assert_lacks(error.as_ref(), what);
            }
            match lock.holder().await {
                Err(InspectError::Config(error)) => assert_lacks(Some(&error), what),
                other => panic!("{other:?}"),
            }
            match Client::connect(&server.url()).await {
                Err(ConnectError::Config(error)) => assert_lacks(Some(&error), what),
                other => panic!("{other:?}"),
            }
            match Masters::connect([server.url()]).await {
                Err(ConnectError::Config(error)) => assert_lacks(Some(&error), what),
                other => panic!("{other:?}"),
            }
        });
    }
    assert_eq!(server.calls_of("hello") + server.calls_of("info"), 1, "what counts asks too");
}

#[test]
fn guard_on_a_runtime_without_timers_or_io_is_valid_lost_and_released() {
    let server = RedisServer::start();
    let whole = whole();
    let client = whole.block_on(patient(&server).connect()).unwrap();
    for (runtime, what) in lacking() {
        let guard = whole.block_on(acquired(&client.lock("x")));
        runtime.block_on(async {
            guard.ensure_valid().unwrap();
            assert_eq!(guard.run(async { 1 }).await, Ok(1));
            // Confirmed here or in the background.
            drop(guard.release().await);
        });
        eventually_blocking(|| !server.exists("x"));
        // Its next renewal tells.
        let guard = whole.block_on(acquired(&client.lock("x").with_lease(watchdog(900))));
        server.command(&["DEL", "x"]);
        let lost = runtime.block_on(guard.lost());
        assert!(matches!(lost, LostCause::Gone | LostCause::Expired), "{what}: {lost}");
    }
}
