//! The statements of a scatter: one for each shard, and the probe.

use remora_crds::layout::ShardIndex;
use remora_merge::Limit;

use crate::Refusal;
use crate::binding::Binding;
use crate::bound::{Part, Place, Scatter};
use crate::text::{Position, Renderer};

use super::columns::Text;
use super::plan::{Push, ScatterPlan};

/// The numbers of a statement's LIMIT, and whether they are parameters.
#[derive(Clone, Copy)]
struct Rows {
    /// How many rows a part may be asked for at most.
    count: u64,
    prepared: bool,
}

impl ScatterPlan {
    /// The statements for these places, which are in order and more than one.
    pub(crate) fn bind<'a>(
        &self,
        binding: &Binding<'a>,
        places: &[Place],
    ) -> Result<Scatter<'a>, Refusal> {
        let limit = self
            .limit
            .map(|limit| limit.resolve(&binding.values))
            .transpose()?;
        let prepared = self.limit.is_some_and(|limit| limit.prepared);
        let rows = limit.map(|Limit { offset, count }| Rows {
            count: offset.saturating_add(count),
            prepared: prepared && binding.values.prepared(),
        });
        let mut parts = Vec::new();
        for slots in places.chunk_by(|left, right| left.shard == right.shard) {
            let statement = match slots {
                [only] => {
                    let mut renderer = binding.renderer(256);
                    self.place(binding, &mut renderer, *only);
                    self.order(&mut renderer);
                    Self::limit(&mut renderer, rows.filter(|_| self.push != Push::No));
                    renderer.finish()
                }
                slots => {
                    if let Some(refusal) = &self.no_union {
                        return Err(refusal.clone());
                    }
                    let mut renderer =
                        binding.renderer(slots.len() * (binding.frame.sql.len() + 256));
                    self.union(binding, &mut renderer, slots, rows);
                    renderer.finish()
                }
            };
            let shard = slots.first().map_or(ShardIndex(0), |place| place.shard);
            parts.push(Part {
                shard,
                statement,
                branches: slots.len(),
            });
        }
        let first = places.first().copied().unwrap_or(Place::FIRST);
        let probe = Part {
            shard: first.shard,
            statement: binding.statement(&[first]),
            branches: 1,
        };
        let mut merge = self.merge.clone();
        merge.limit = limit;
        Ok(Scatter {
            columns: self.merge.visible + self.hidden.len(),
            parts,
            merge,
            probe,
        })
    }

    /// All places of a shard in one statement, one sorted stream.
    fn union<'a>(
        &self,
        binding: &Binding<'a>,
        renderer: &mut Renderer<'a>,
        places: &[Place],
        rows: Option<Rows>,
    ) {
        let inner = rows.filter(|_| self.push != Push::No);
        for (number, place) in places.iter().enumerate() {
            renderer.push(if number == 0 { b"(" } else { b" UNION ALL (" });
            self.place(binding, renderer, *place);
            // MySQL drops an inner ORDER BY without LIMIT, so it is left out.
            if inner.is_some() {
                self.order(renderer);
                Self::limit(renderer, inner);
            }
            renderer.push(b")");
        }
        self.order(renderer);
        Self::limit(renderer, rows.filter(|_| self.push == Push::Shard));
    }

    /// The client's SELECT up to ORDER BY, on one place, with the hidden columns.
    fn place<'a>(&self, binding: &Binding<'a>, renderer: &mut Renderer<'a>, place: Place) {
        let places = &[place];
        binding.copy(renderer, Position::START, self.insert_at, places);
        for hidden in &self.hidden {
            renderer.push(b", ");
            renderer.push(hidden.prefix.as_bytes());
            match &hidden.text {
                Text::Span(span) => binding.copy(renderer, span.start, span.end, places),
                Text::Column(name) => renderer.push(name),
            }
            renderer.push(hidden.suffix.as_bytes());
        }
        binding.copy(renderer, self.insert_at, self.tail, places);
    }

    fn order(&self, renderer: &mut Renderer<'_>) {
        for (number, (position, descending)) in self.order.iter().enumerate() {
            renderer.push(if number == 0 { b" ORDER BY " } else { b", " });
            renderer.number(*position as u64);
            if *descending {
                renderer.push(b" DESC");
            }
        }
    }

    fn limit(renderer: &mut Renderer<'_>, rows: Option<Rows>) {
        if let Some(Rows { count, prepared }) = rows {
            renderer.push(b" LIMIT ");
            renderer.value(count, prepared);
        }
    }
}
