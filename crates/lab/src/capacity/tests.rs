use prony_load::Target;
use prony_target::{Config, Target as Server};
use super::*;
