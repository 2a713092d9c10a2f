//! The page of the results, `docs/compatibility.md`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Result;

use super::{Comparison, Refusals, Verdict};

/// Writes the page.
///
/// # Errors
/// If it cannot be written.
pub fn write_table(
    page: &Path,
    server: &str,
    comparisons: &[Comparison],
    refusals: &Refusals,
) -> Result<()> {
    let text = render(server, comparisons, refusals)?;
    fs::write(page, text)?;
    Ok(())
}

fn render(server: &str, comparisons: &[Comparison], refusals: &Refusals) -> Result<String> {
    let mut page = format!(
        "# Compatibility\n\n\
         `make test-drivers` writes this page. Each suite ran twice, as its driver's authors ship it \
         or as our\nown tests where they ship none: on plain MySQL {server}, and through the sidecar \
         on one such server, with\ntables that are not sharded. What [SQL](sql.md) says of sharded \
         tables is tested elsewhere.\n\n\
         | driver | version | tests | pass on MySQL | of these pass here |\n\
         | --- | --- | --- | --: | --: |\n"
    );
    let mut rows = String::new();
    for comparison in comparisons {
        let differences = comparison.differences(refusals);
        let passed = comparison.mysql.ended(Verdict::Passed).count();
        writeln!(
            page,
            "| {} | {} | {} | {passed} | {} |",
            comparison.suite.title,
            comparison.version,
            comparison.suite.tests,
            passed - differences.len()
        )?;
        for difference in differences {
            let reason = difference.reason.as_deref().unwrap_or("a mistake");
            writeln!(
                rows,
                "| {} | `{}` | {reason} |",
                comparison.suite.title,
                difference.test.replace('|', "\\|")
            )?;
        }
    }
    page.push('\n');
    if rows.is_empty() {
        page.push_str("Whatever passes on MySQL passes here.\n");
    } else {
        page.push_str(
            "These pass on MySQL and not here:\n\n| driver | test | why |\n| --- | --- | --- |\n",
        );
        page.push_str(&rows);
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::super::{Suite, Verdicts};
    use super::*;

    #[test]
    fn the_page_has_both_counts_and_each_difference() {
        let comparison = |here: &str| Comparison {
            suite: &Suite::ALL[3],
            version: "1.0".to_owned(),
            mysql: Verdicts::parse("passed a\nfailed b\npassed c").unwrap(),
            remora: Verdicts::parse(here).unwrap(),
        };
        let refusals = Refusals::parse("pymysql c: by design").unwrap();
        let page = render("9.7.4", &[comparison("passed a\nfailed c")], &refusals).unwrap();
        assert!(
            page.contains("| PyMySQL | 1.0 | mysqlclient's | 2 | 1 |"),
            "{page}"
        );
        assert!(page.contains("| PyMySQL | `c` | by design |"), "{page}");
        let page = render("9.7.4", &[comparison("passed a\npassed c")], &refusals).unwrap();
        assert!(page.ends_with("passes here.\n"), "{page}");
    }
}
