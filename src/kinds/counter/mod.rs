//! What is a number on one server: what latches and semaphores have in common.

pub(crate) mod script;

use std::sync::Arc;

use script::Read;

use crate::{
    error::{ConfigError, InspectError, LockName, NodeError},
    kinds::looking::{ask, ask_when, failed},
    process::NodeServices,
    socket::Answer,
    wire::Call,
};

/// A number under a name on one server.
#[derive(Debug, Clone)]
pub(crate) struct Counter {
    pub(crate) services: Arc<NodeServices>,
    pub(crate) key: Arc<str>,
}

impl Counter {
    pub(crate) fn new(services: Arc<NodeServices>, name: &str) -> Self {
        let key = services.key_of(name).into();
        Self { services, key }
    }

    pub(crate) fn name(&self) -> &str {
        self.services.name_of(&self.key)
    }

    /// What it is called in errors.
    pub(crate) fn shown_name(&self) -> LockName {
        self.services.shown_name_of(&self.key)
    }

    /// Whether it can be asked for from here, by this name.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        self.services.check_name_of(&self.key)?;
        self.services.check_here()
    }

    /// The number that stands there, if there is one.
    pub(crate) async fn read(&self) -> Result<Option<i64>, InspectError> {
        self.ask(&Read { name: self.key.clone() }).await
    }

    /// Asks what changes nothing.
    pub(crate) async fn ask<C: Call>(&self, call: &C) -> Result<C::Reply, InspectError> {
        ask(&self.services, &self.key, call).await
    }

    /// The same, and when it was answered.
    pub(crate) async fn ask_when<C: Call>(
        &self,
        call: &C,
    ) -> Result<Answer<C::Reply>, InspectError> {
        ask_when(&self.services, &self.key, call).await
    }

    pub(crate) fn failed(&self, source: NodeError) -> InspectError {
        failed(&self.services, &self.key, source)
    }
}
