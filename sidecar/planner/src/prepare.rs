//! The text to describe a prepared statement by, before it has values.

use crate::binding::Binding;
use crate::bound::{BindInput, Place, Statement, Target};
use crate::catalog::Catalog;
use crate::context::Context;
use crate::plan::Work;
use crate::planner::{Planned, Planner};

/// Who can tell the parameters and columns of a statement that is being prepared.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Prepare<'a> {
    /// A server: the client's own statement, on the first physical table where it is split.
    On {
        /// The server.
        target: Target,
        /// The text.
        statement: Statement<'a>,
    },
    /// The session, which runs it.
    Here,
}

impl Planner {
    /// What to send to MySQL in COM_STMT_PREPARE for the client's own PREPARE. Where the
    /// statement will run is not known yet; definitions are the same in every place.
    #[must_use]
    pub fn prepare<'a>(
        &self,
        catalog: &'a Catalog,
        context: &Context,
        planned: &'a Planned,
        sql: &'a [u8],
        input: &'a BindInput<'a>,
    ) -> Prepare<'a> {
        let plan = planned.plan();
        let binding = Binding {
            catalog,
            frame: planned.frame(sql),
            splices: &plan.splices,
            session: &input.session,
            values: planned.values(context, sql, input),
        };
        let target = match &plan.work {
            Work::Utility | Work::Explain(_) => return Prepare::Here,
            Work::Replace(target, text) => {
                let sql = text.to_vec().into();
                let statement = Statement {
                    sql,
                    params: Vec::new(),
                    rows: Vec::new(),
                };
                return Prepare::On {
                    target: *target,
                    statement,
                };
            }
            Work::Pass(target) => *target,
            Work::Fixed(_)
            | Work::Missing(_)
            | Work::Rows(_)
            | Work::Everywhere
            | Work::Insert(_)
            | Work::Ddl(_) => Target::Any,
        };
        let places = vec![Place::FIRST; plan.splices.tables.len().max(1)];
        Prepare::On {
            target,
            statement: binding.statement(&places),
        }
    }
}
