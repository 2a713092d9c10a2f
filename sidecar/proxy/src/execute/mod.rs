//! Running a bound statement and answering the client.

mod cover;
mod cursor;
mod ddl;
mod drain;
mod info;
mod local;
mod made_keys;
mod observe;
mod over;
mod read;
mod relay;
mod row_numbers;
mod run;
mod scatter;
mod single;
mod statement_warnings;
mod union;
mod writes;

pub(crate) use cover::{Cover, ResultCharset, Unveiling};
pub(crate) use cursor::Cursor;
pub(crate) use local::{Cell, number_column, put_table, text_column};
pub(crate) use relay::{Patch, Relayed, Withheld, relay};
pub(crate) use run::{Request, Route};
