//! Statements on tables with protected columns: veiled before they are planned, and their
//! answers opened.

use std::sync::Arc;

use bytes::BytesMut;
use remora_planner::utility::StatementKind;
use remora_planner::veil::{Fed, Veil, Veiled};
use remora_planner::{BindInput, Catalog, Param as KeyParam, Planned, Planner};
use remora_protocol::{Attribute, ColumnDef, ColumnType, ErrPacket, Param, ParamType, RawParam};

use super::utility::not_supported;
use super::{Diagnostics, Note, Session};
use crate::backend::Described;
use crate::execute::{Cover, Request, ResultCharset};
use crate::failure::Failure;
use crate::world::World;

/// Tells how texts of results are encoded: MySQL names that character set in the definitions of
/// both columns, unless results are not converted at all.
const PROBE: &[u8] =
    b"SELECT _utf8mb4'' COLLATE utf8mb4_general_ci, _utf8mb4'' COLLATE utf8mb4_bin";

impl Session {
    /// Reads a statement. `None`: it concerns no protected column's table.
    pub(super) fn veil(&mut self, catalog: &Catalog, sql: &[u8]) -> Result<Option<Veil>, Failure> {
        if !catalog.has_protected() {
            return Ok(None);
        }
        let Self {
            proxy,
            state,
            normalizer,
            ..
        } = self;
        let veil = proxy
            .veiler
            .veil(catalog, &state.context, normalizer, sql)?;
        Ok(veil)
    }

    /// A text that a server would refuse is not shown to it where it may hold values of
    /// protected columns.
    pub(super) fn refuse_to_pass(&self, sql: &[u8]) -> Result<(), Failure> {
        let world = self.proxy.world();
        if !world.catalogs.load().may_concern_protected(sql) {
            return Ok(());
        }
        let message = "You have an error in your SQL syntax: several statements without \
                       CLIENT_MULTI_STATEMENTS; no part of them is shown, since they may name a \
                       table with encrypted columns";
        Err(ErrPacket::new(1064, *b"42000", message).into())
    }

    /// Plans a veiled text under a catalog.
    pub(crate) fn plan_veiled(
        &mut self,
        catalog: &Catalog,
        sql: &[u8],
    ) -> Result<Planned, Failure> {
        self.plan_by(Planner::plan_veiled, catalog, sql)
    }

    /// Runs a statement of the text protocol that names a table with protected columns.
    pub(super) async fn veiled_statement(
        &mut self,
        world: &World,
        sql: &[u8],
        attributes: &[Attribute<'_>],
        more_results: bool,
    ) -> Result<(), Failure> {
        let mut catalog = world.catalogs.load();
        let mut again = false;
        loop {
            let Some(veil) = self.veil(&catalog, sql)? else {
                return Err(not_supported(
                    "a table whose columns were just changed; try again",
                ));
            };
            if veil.is_stale() && !again {
                again = true;
                self.proxy.refresh_catalog(world).await;
                catalog = world.catalogs.load();
                continue;
            }
            let context = self.state.context.clone();
            let input = BindInput::default();
            let veiled = veil.bind(&context, sql, &input, &world.snapshot.keys)?;
            let planned = self.plan_veiled(&catalog, &veiled.sql)?;
            if planned.plan().is_stale() && !again {
                again = true;
                self.proxy.refresh_catalog(world).await;
                catalog = world.catalogs.load();
                continue;
            }
            let Veiled { sql, shown, .. } = veiled;
            let cover = self
                .cover(world, &catalog, &veil, &planned, shown, (false, false))
                .await?;
            let request = Request {
                sql: &sql,
                params: None,
                keys: None,
                charset: None,
                using: &[],
                more_results,
                cover: Some(&cover),
                attributes,
                cursor: false,
            };
            return self.run_veiled(world, &catalog, &planned, &request).await;
        }
    }

    /// Plans a statement that is being prepared.
    pub(super) async fn prepare_veiled(
        &mut self,
        world: &World,
        sql: &[u8],
        veil: Veil,
    ) -> Result<(Arc<Catalog>, Planned, Veil, Veiled), Failure> {
        let context = self.state.context.clone();
        let catalog = world.catalogs.load();
        if !veil.is_stale() && veil.catalog_version() == catalog.version() {
            let text = veil.prepare(&context, sql)?;
            let planned = self.plan_veiled(&catalog, &text.sql)?;
            if !planned.plan().is_stale() {
                return Ok((catalog, planned, veil, text));
            }
        }
        self.proxy.refresh_catalog(world).await;
        let catalog = world.catalogs.load();
        let Some(veil) = self.veil(&catalog, sql)? else {
            return Err(not_supported(
                "a table whose columns were just changed; try again",
            ));
        };
        let text = veil.prepare(&context, sql)?;
        let planned = self.plan_veiled(&catalog, &text.sql)?;
        Ok((catalog, planned, veil, text))
    }

    /// Executes a prepared statement that names such a table.
    pub(super) async fn execute_veiled(
        &mut self,
        world: &World,
        catalog: &Arc<Catalog>,
        sql: &[u8],
        veil: &mut Veil,
        planned: &mut Planned,
        (params, keys, attributes): (&[Param<'_>], &[KeyParam<'_>], &[Attribute<'_>]),
    ) -> Result<(), Failure> {
        if veil.catalog_version() != catalog.version() {
            let anew = self.veil(catalog, sql)?;
            *veil = anew.ok_or_else(|| {
                not_supported("a statement whose table was changed meanwhile; prepare it anew")
            })?;
        }
        let context = self.state.context.clone();
        let charset = Some(context.charset);
        let input = BindInput {
            params: Some(keys),
            charset,
            ..BindInput::default()
        };
        let Veiled {
            sql: text,
            params: fed,
            shown,
        } = veil.bind(&context, sql, &input, &world.snapshot.keys)?;
        if planned.plan().catalog_version() != catalog.version() {
            *planned = self.plan_veiled(catalog, &text)?;
        }
        let own = |number: &u32| *number as usize;
        let sent: Vec<Param<'_>> = fed
            .iter()
            .map(|fed| match fed {
                Fed::Client(number) => params.get(own(number)).copied(),
                Fed::Binary(bytes) => Some(blob(bytes)),
                Fed::Text(text) => Some(Param::bytes(text)),
                Fed::Null | Fed::Later(_) => None,
            })
            .map(|param| param.unwrap_or_else(Param::null))
            .collect();
        let seen: Vec<KeyParam<'_>> = fed
            .iter()
            .map(|fed| match fed {
                Fed::Client(number) => keys.get(own(number)).copied(),
                Fed::Binary(bytes) => Some(KeyParam::Binary(bytes)),
                Fed::Text(text) => Some(KeyParam::Bytes(text)),
                Fed::Null | Fed::Later(_) => None,
            })
            .map(|key| key.unwrap_or(KeyParam::Null))
            .collect();
        let cover = self
            .cover(world, catalog, veil, planned, shown, (true, false))
            .await?;
        let request = Request {
            sql: &text,
            params: Some(&sent),
            keys: Some(&seen),
            charset,
            using: &[],
            more_results: false,
            cover: Some(&cover),
            attributes,
            cursor: false,
        };
        self.run_veiled(world, catalog, planned, &request).await
    }

    /// Runs a veiled statement. What MySQL says of it is fetched at once, while it is known which
    /// tags stand for what.
    async fn run_veiled(
        &mut self,
        world: &World,
        catalog: &Catalog,
        planned: &Planned,
        request: &Request<'_>,
    ) -> Result<(), Failure> {
        let outcome = self.run(world, catalog, planned, request).await;
        let Some(cover) = request.cover else {
            return outcome;
        };
        if matches!(outcome, Ok(()) | Err(Failure::Answer(_))) {
            let notes = match std::mem::take(&mut self.state.diagnostics) {
                Diagnostics::Clean => Vec::new(),
                // Those of several servers were gathered already.
                Diagnostics::Local(notes) => notes,
                Diagnostics::On(shard) => match self.backends.get(shard) {
                    Some(backend) => {
                        let notes = Note::fetch(backend).await?.into_iter();
                        notes.map(|note| note.logical(&world.names)).collect()
                    }
                    None => Vec::new(),
                },
            };
            self.state.diagnostics = Diagnostics::of_notes(cover.in_notes(notes));
        }
        outcome.map_err(|failure| match failure {
            Failure::Answer(error) => Failure::Answer(cover.in_error(error)),
            other => other,
        })
    }

    /// What the answer will need.
    pub(super) async fn cover(
        &mut self,
        world: &World,
        catalog: &Arc<Catalog>,
        veil: &Veil,
        planned: &Planned,
        tags: Vec<(Vec<u8>, Vec<u8>)>,
        (binary, describes): (bool, bool),
    ) -> Result<Cover, Failure> {
        use StatementKind as K;
        let has_rows = matches!(planned.plan().kind(), K::Query | K::With);
        let results = match has_rows || describes {
            true => Some(self.result_charset(world).await?),
            false => None,
        };
        Ok(Cover {
            catalog: Arc::clone(catalog),
            keys: Arc::clone(&world.snapshot.keys),
            shown: veil.shown().cloned(),
            tags,
            binary,
            by_position: veil.by_position(),
            results,
        })
    }

    /// How texts of results are encoded; a server knows, and is asked after each SET.
    async fn result_charset(&mut self, world: &World) -> Result<ResultCharset, Failure> {
        let version = self.state.settings.version();
        if let Some((known, charset)) = self.result_charset
            && known == version
        {
            return Ok(charset);
        }
        let shard = self.any_shard();
        self.prepare_backend(world, shard).await?;
        let Some(backend) = self.backends.get(shard) else {
            return Err(Failure::CutOff);
        };
        let described = backend.look_at(PROBE).await??;
        let collations: Vec<u16> = described
            .columns
            .iter()
            .map(|column| Ok(ColumnDef::decode(column)?.collation))
            .collect::<Result<_, Failure>>()?;
        match collations[..] {
            [first, second] if first == second => {
                let charset = ResultCharset { collation: first };
                self.result_charset = Some((version, charset));
                Ok(charset)
            }
            _ => Err(not_supported(
                "encrypted columns while character_set_results is NULL; SET NAMES utf8mb4",
            )),
        }
    }
}

/// What MySQL says of a veiled statement, as it would of the client's.
pub(super) fn of_client(
    world: &World,
    mut described: Described,
    text: &Veiled,
    cover: &Cover,
) -> Result<Described, Failure> {
    let number = |fed: &Fed| match fed {
        Fed::Client(number) | Fed::Later(Some(number)) => Some(*number),
        _ => None,
    };
    let count = text.params.iter().filter_map(number).max();
    let count = count.map_or(0, |last| last + 1);
    let params = (0..count).filter_map(|own| {
        let at = text
            .params
            .iter()
            .position(|fed| number(fed) == Some(own))?;
        let definition = described.params.get(at)?;
        Some(match text.params.get(at) {
            Some(Fed::Later(_)) => cover.parameter(definition),
            _ => Ok(definition.clone()),
        })
    });
    let params = params.collect::<Result<Vec<Box<[u8]>>, Failure>>()?;
    let columns = described.columns.iter().map(|column| {
        let mut out = BytesMut::new();
        cover.define(&world.names, column, &mut out)?;
        Ok(out[..].into())
    });
    let columns = columns.collect::<Result<Vec<Box<[u8]>>, Failure>>()?;
    described.params = params;
    described.columns = columns;
    Ok(described)
}

/// Bytes without a character set.
fn blob(bytes: &[u8]) -> Param<'_> {
    Param {
        ty: ParamType {
            kind: ColumnType::MYSQL_TYPE_BLOB,
            unsigned: false,
        },
        raw: RawParam::Bytes(bytes),
    }
}
