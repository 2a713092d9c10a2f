//! The differential test: the same statements on a subject (the sidecar) and on one plain
//! MySQL, and everything that a client can see compared.
//!
//! A [`Script`] holds statements, read from a file, drawn from another project's tests or made
//! by a generator. [`run`] sends each of them to both sides, twice with other literals, as text
//! or prepared. A [`Report`] names every difference, and every statement that the subject
//! refused with error 1235.

mod compare;
mod generate;
mod outcome;
mod report;
mod run;
mod script;
mod template;
mod vitess;

pub use compare::differences;
pub use generate::{generated_manifest, generated_script};
pub use outcome::{ColumnFacts, Counts, Outcome, Reply};
pub use report::{Finding, Report};
pub use run::{Mode, Sides, run};
pub use script::{Script, Statement};
pub use template::Template;
pub use vitess::{VitessCorpus, go_module};
