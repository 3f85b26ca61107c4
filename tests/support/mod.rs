//! Shared by the integration tests: a seeded generator of hard clusters, and an exhaustive planner for tiny ones.

// Every test binary includes this folder and uses a part of it.
#![allow(dead_code)]

pub mod apply;
pub mod brute;
pub mod generator;
pub mod many_rules;
pub mod rng;
pub mod variants;
