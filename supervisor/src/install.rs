//! Copies the supervisor out of its own image, which holds no `cp`.

use std::{env, fs, io, os::unix::fs::PermissionsExt, path::Path};

/// The program's name in the folder that the mysql container mounts.
const NAME: &str = "remora-supervisor";

/// Copies this program into `directory`. It is renamed into place, so that a container which
/// starts at the same time never executes half of it.
pub(crate) fn install(directory: &Path) -> io::Result<()> {
    let unfinished = directory.join(format!(".{NAME}.new"));
    fs::copy(env::current_exe()?, &unfinished)?;
    fs::set_permissions(&unfinished, fs::Permissions::from_mode(0o555))?;
    fs::rename(unfinished, directory.join(NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_is_whole_executable_and_can_be_made_again() {
        let folder = tempfile::tempdir().unwrap();
        install(folder.path()).unwrap();
        install(folder.path()).unwrap();

        let copy = folder.path().join(NAME);
        let metadata = fs::metadata(&copy).unwrap();
        assert_eq!(
            metadata.len(),
            fs::metadata(env::current_exe().unwrap()).unwrap().len()
        );
        assert_eq!(metadata.permissions().mode() & 0o777, 0o555);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
