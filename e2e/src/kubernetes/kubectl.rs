//! `kubectl` and `helm`, as a person would use them, on the run's own API server.

use std::ffi::OsStr;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::Kubernetes;

impl Kubernetes {
    /// A command with one of Kubernetes' programs that speaks to this API server.
    #[must_use]
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs().join(program));
        command
            .env("KUBECONFIG", self.kubeconfig())
            .stdin(Stdio::null());
        // Helm's own state must not come from, or go to, the user's.
        for (variable, folder) in [
            ("HELM_CACHE_HOME", "cache"),
            ("HELM_CONFIG_HOME", "config"),
            ("HELM_DATA_HOME", "data"),
        ] {
            command.env(variable, self.run().path().join("helm").join(folder));
        }
        command
    }

    /// What `kubectl ARGUMENTS` prints.
    ///
    /// # Errors
    /// If it fails; the text has what it printed on standard error.
    pub fn kubectl<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<String> {
        output(self.command("kubectl").args(arguments), None)
    }

    /// What `kubectl ARGUMENTS` prints when it is given `input`, such as `apply -f -`.
    ///
    /// # Errors
    /// If it fails; the text has what it printed on standard error.
    pub fn kubectl_with(&self, arguments: &[&str], input: &str) -> Result<String> {
        output(self.command("kubectl").args(arguments), Some(input))
    }

    /// Applies YAML.
    ///
    /// # Errors
    /// If the API server refuses it; the text has the reason.
    pub fn apply(&self, yaml: &str) -> Result<String> {
        self.kubectl_with(&["apply", "-f", "-"], yaml)
    }

    /// What `helm ARGUMENTS` prints.
    ///
    /// # Errors
    /// If it fails; the text has what it printed on standard error.
    pub fn helm<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<String> {
        output(self.command("helm").args(arguments), None)
    }

    /// Asks until `kubectl get OBJECT -o jsonpath=PATH` gives an answer that pleases.
    ///
    /// # Errors
    /// If none does in time; the text has the last answer.
    pub fn wait_until(
        &self,
        limit: Duration,
        get: &[&str],
        path: &str,
        pleases: impl Fn(&str) -> bool,
    ) -> Result<String> {
        let deadline = Instant::now() + limit;
        let path = format!("jsonpath={path}");
        loop {
            let mut arguments = vec!["get"];
            arguments.extend(get);
            arguments.extend(["-o", &path]);
            let answer = self.kubectl(&arguments);
            if let Ok(answer) = &answer
                && pleases(answer)
            {
                return Ok(answer.clone());
            }
            if Instant::now() > deadline {
                bail!("after {limit:?}, {get:?} {path} is still {answer:?}");
            }
            std::thread::sleep(Duration::from_millis(250));
        }
    }
}

/// Runs a command to its end.
pub(super) fn output(command: &mut Command, input: Option<&str>) -> Result<String> {
    if input.is_some() {
        command.stdin(Stdio::piped());
    }
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run {command:?}"))?;
    if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
        stdin.write_all(input.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    if !output.status.success() {
        bail!(
            "{} failed: {}{}",
            command
                .get_args()
                .map(OsStr::to_string_lossy)
                .collect::<Vec<_>>()
                .join(" "),
            String::from_utf8_lossy(&output.stderr),
            String::from_utf8_lossy(&output.stdout),
        );
    }
    Ok(String::from_utf8(output.stdout)?)
}
