//! Writes the tables of `src/keys/collation` from a server's own WEIGHT_STRING():
//!
//! ```text
//! cargo run -p remora-planner --example collation_tables -- mysql -uroot -S /path/mysql.sock
//! ```
//!
//! The arguments are a `mysql` client that can log in. The tables are part of the layout on
//! disk: a server whose weights differ needs collations of new names, never new tables.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Every code point with its weights in general_ci and 0900_as_cs.
const UNICODE: &str = "SET cte_max_recursion_depth = 2000000;
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1114111)
SELECT i, HEX(WEIGHT_STRING(c COLLATE utf8mb4_general_ci)),
  HEX(WEIGHT_STRING(c COLLATE utf8mb4_0900_as_cs))
FROM (SELECT i, CONVERT(CHAR(i USING utf32) USING utf8mb4) c FROM n
  WHERE i NOT BETWEEN 55296 AND 57343) points;";

/// Every byte with its weight in latin1_swedish_ci.
const LATIN1: &str =
    "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 255)
SELECT i, HEX(WEIGHT_STRING(CHAR(i USING latin1) COLLATE latin1_swedish_ci)) FROM n;";

fn main() -> Result<(), Box<dyn Error>> {
    let client: Vec<String> = std::env::args().skip(1).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/keys/collation");

    let mut general = Vec::new();
    let mut unicode = Unicode::default();
    for row in query(&client, UNICODE)? {
        let [code, general_ci, as_cs] = row.as_slice() else {
            return Err("three columns".into());
        };
        let code: u32 = code.parse()?;
        let weight = u16::from_str_radix(general_ci, 16)?;
        // ASCII needs no table.
        if let Ok(short @ 0x80..) = u16::try_from(code)
            && short != weight
        {
            general.extend(short.to_le_bytes());
            general.extend(weight.to_le_bytes());
        }
        unicode.add(code, as_cs)?;
    }
    fs::write(folder.join("general_ci.bin"), general)?;
    fs::write(folder.join("unicode_0900.bin"), unicode.table()?)?;

    let mut swedish = Vec::new();
    for row in query(&client, LATIN1)? {
        let weight = row.last().ok_or("two columns")?;
        swedish.push(u8::from_str_radix(weight, 16)?);
    }
    fs::write(folder.join("latin1_swedish_ci.bin"), swedish)?;
    Ok(())
}

fn query(client: &[String], sql: &str) -> Result<Vec<Vec<String>>, Box<dyn Error>> {
    let (program, arguments) = client.split_first().ok_or("name a mysql client")?;
    let mut child = Command::new(program)
        .args(arguments)
        .args([
            "--batch",
            "--skip-column-names",
            "--quick",
            "--default-character-set=utf8mb4",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    child
        .stdin
        .take()
        .ok_or("no input")?
        .write_all(sql.as_bytes())?;
    let output = child.wait_with_output()?;
    if !output.status.success() {
        return Err("the client failed".into());
    }
    let text = String::from_utf8(output.stdout)?;
    Ok(text
        .lines()
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect())
}

/// The table of the 0900 collations; its form is told in `collation/unicode.rs`.
#[derive(Default)]
struct Unicode {
    runs: Vec<(u32, u32)>,
    pages: BTreeMap<u32, Vec<u32>>,
    pairs: Blob,
    entries: Blob,
}

/// Byte strings, each kept once.
#[derive(Default)]
struct Blob {
    bytes: Vec<u8>,
    places: HashMap<Vec<u8>, usize>,
}

impl Blob {
    fn place(&mut self, bytes: Vec<u8>) -> usize {
        if let Some(place) = self.places.get(&bytes) {
            return *place;
        }
        let place = self.bytes.len();
        self.bytes.extend(&bytes);
        self.places.insert(bytes, place);
        place
    }
}

impl Unicode {
    fn add(&mut self, code: u32, weights: &str) -> Result<(), Box<dyn Error>> {
        let weights: Result<Vec<u16>, _> = weights
            .as_bytes()
            .chunks(4)
            .map(|hex| u16::from_str_radix(&String::from_utf8_lossy(hex), 16))
            .collect();
        let weights = weights?;
        let levels: Vec<&[u16]> = weights.split(|weight| *weight == 0).collect();
        let [first, second, third] = levels.as_slice() else {
            return Err("three levels".into());
        };
        if let [base, own] = first
            && u32::from(*own) == code & 0x7fff | 0x8000
            && (*second, *third) == (&[0x20][..], &[0x02][..])
        {
            if self
                .runs
                .last()
                .is_none_or(|(_, last)| *last != u32::from(*base))
            {
                self.runs.push((code, u32::from(*base)));
            }
            return Ok(());
        }
        let list = |weights: &[u16]| {
            weights
                .iter()
                .flat_map(|w| w.to_le_bytes())
                .collect::<Vec<u8>>()
        };
        let mut pair = vec![u8::try_from(second.len())?, u8::try_from(third.len())?];
        pair.extend(list(second));
        pair.extend(list(third));
        let mut entry = u16::try_from(self.pairs.place(pair))?
            .to_le_bytes()
            .to_vec();
        entry.push(u8::try_from(first.len())?);
        entry.extend(list(first));
        let entry = u32::try_from(self.entries.place(entry))?;
        let page = self
            .pages
            .entry(code >> 8)
            .or_insert_with(|| vec![u32::MAX; 256]);
        page[(code & 0xff) as usize] = entry;
        Ok(())
    }

    fn table(self) -> Result<Vec<u8>, Box<dyn Error>> {
        let head = [
            self.runs.len(),
            self.pages.len(),
            self.pairs.bytes.len(),
            self.entries.bytes.len(),
        ];
        let mut table = Vec::new();
        for number in head {
            table.extend(u32::try_from(number)?.to_le_bytes());
        }
        for (first, base) in self.runs {
            table.extend(first.to_le_bytes());
            table.extend(base.to_le_bytes());
        }
        let mut index = vec![u16::MAX; 0x11_0000 >> 8];
        for (number, block) in self.pages.keys().enumerate() {
            index[*block as usize] = u16::try_from(number)?;
        }
        table.extend(index.into_iter().flat_map(u16::to_le_bytes));
        table.extend(
            self.pages
                .into_values()
                .flatten()
                .flat_map(u32::to_le_bytes),
        );
        table.extend(self.pairs.bytes);
        table.extend(self.entries.bytes);
        Ok(table)
    }
}
