//! The tool as its users meet it: real processes, real signals, real servers.

#![cfg(target_os = "linux")]

mod acl;
mod arguments;
mod book;
mod config;
mod dashboard;
mod deployments;
mod doctor;
mod exporter;
mod fencing;
mod herd;
mod hold;
mod inspect;
mod leader;
mod long;
mod loss;
mod ls;
mod misdirected;
mod namespace;
mod pages;
mod periods;
mod prometheus;
mod quorum;
mod roles;
mod rolling;
mod run;
mod schemas;
mod sorts;
mod supervisor;
mod support;
mod terminal;
mod tls;
mod unkillable;
mod unlock;
mod waiting;
mod watch;
mod young;
