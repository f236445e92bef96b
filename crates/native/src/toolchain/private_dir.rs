//! Directories that only their owner can write to.
//!
//! The contents of such a directory are trusted: the cache loads code from it, and the control socket is bound in it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Treatment of a symbolic link at the end of a private directory's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Symlinks {
    /// A link is followed if it is the user's own.
    Follow,
    /// A link is an error.
    Refuse,
}

/// Opens `dir`, and creates it with mode 0700 if it is missing.
///
/// Fails with [`io::ErrorKind::PermissionDenied`] if the directory belongs to another user or if its group or others
/// can write to it. Only the returned handle is known to be private: a user who controls the parent directory can
/// put another directory at the path.
pub fn open_private_dir(dir: &Path, symlinks: Symlinks) -> io::Result<File> {
    if let Some(parent) = dir.parent() {
        fs::create_dir_all(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    let not_private = || {
        let message = format!("{} is not a directory that only its owner, you, can write to", dir.display());
        io::Error::new(io::ErrorKind::PermissionDenied, message)
    };
    let user = user_id();
    let is_ours = |m: &fs::Metadata| user.is_none_or(|user| m.uid() == user);
    let link = fs::symlink_metadata(dir)?;
    let no_follow = match symlinks {
        Symlinks::Follow => 0,
        Symlinks::Refuse => libc::O_NOFOLLOW,
    };
    let is_refused_link = link.is_symlink() && symlinks == Symlinks::Refuse;
    if !is_ours(&link) || is_refused_link || !(link.is_dir() || link.is_symlink()) {
        return Err(not_private());
    }
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY | no_follow).open(dir)?;
    let metadata = opened.metadata()?;
    if !is_ours(&metadata) || metadata.mode() & 0o022 != 0 {
        return Err(not_private());
    }
    Ok(opened)
}

/// The user that owns the files of this process; `None` without `/proc`.
pub(super) fn user_id() -> Option<u32> {
    fs::metadata("/proc/self").ok().map(|m| m.uid())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn is_refused(dir: &Path, symlinks: Symlinks) -> bool {
        open_private_dir(dir, symlinks).is_err_and(|e| e.kind() == io::ErrorKind::PermissionDenied)
    }

    #[test]
    fn only_what_nobody_else_can_write_to_is_private() {
        let base = std::env::temp_dir().join(format!("siding-private-{}", std::process::id()));
        let dir = base.join("deep/dir");
        open_private_dir(&dir, Symlinks::Refuse).unwrap();
        assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
        open_private_dir(&dir, Symlinks::Refuse).unwrap();
        let link = base.join("link");
        symlink(&dir, &link).unwrap();
        open_private_dir(&link, Symlinks::Follow).unwrap();
        assert!(is_refused(&link, Symlinks::Refuse));
        for (mode, refused) in [(0o755, false), (0o770, true), (0o707, true), (0o1777, true)] {
            fs::set_permissions(&dir, Permissions::from_mode(mode)).unwrap();
            assert_eq!(is_refused(&dir, Symlinks::Refuse), refused, "{mode:o}");
            assert_eq!(is_refused(&link, Symlinks::Follow), refused, "{mode:o}");
        }
        fs::set_permissions(&dir, Permissions::from_mode(0o700)).unwrap();
        // Only root can give a directory away.
        if std::os::unix::fs::chown(&dir, Some(65534), None).is_ok() {
            assert!(is_refused(&dir, Symlinks::Refuse));
            assert!(is_refused(&link, Symlinks::Follow));
        }
        let file = base.join("file");
        fs::write(&file, "").unwrap();
        assert!(is_refused(&file, Symlinks::Follow));
        fs::remove_dir_all(&base).unwrap();
    }
}
