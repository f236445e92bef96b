//! Points files on the disk.

use crate::error::Error;
use crate::header::Header;
use crate::points::Points;
use crate::shard::Shard;
use rustix::fs::{FlockOperation, flock};
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The results of a run: in memory, or also in a points file.
pub struct Results {
    points: Points,
    shard: Shard,
    file: Option<Open>,
}

/// A points file that is locked and gets lines.
struct Open {
    path: PathBuf,
    file: File,
}

impl Results {
    /// Opens the points file at `path`, or begins one; without a path, results are in memory alone. The results that are
    /// in it are taken if it has this header. A file without missing points of the shard is not opened for writing.
    pub fn open(path: Option<&Path>, header: Header, shard: Shard) -> Result<Results, Error> {
        let Some(path) = path else { return Ok(Results { points: Points::new(header), shard, file: None }) };
        let name = path.display().to_string();
        let io = |error: std::io::Error| Error::Io { file: name.clone(), error };
        // A symbolic link stays one: the file that it leads to is written.
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let (points, _) = take(&name, &bytes(&path).map_err(io)?, &header)?;
        let mut results = Results { points, shard, file: None };
        if results.missing().is_empty() && path.exists() {
            return Ok(results);
        }
        let mut file = OpenOptions::new().create(true).append(true).open(&path).map_err(io)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(Error::Busy { file: name }),
            // Some file systems have no locks.
            Err(_) => {}
        }
        // Another process may have written, or replaced the file, before the lock was ours.
        let (found, ours) = (std::fs::metadata(&path).map_err(io)?, file.metadata().map_err(io)?);
        if (found.dev(), found.ino()) != (ours.dev(), ours.ino()) {
            return Err(Error::Busy { file: name });
        }
        let (points, n_whole) = take(&name, &bytes(&path).map_err(io)?, &header)?;
        results.points = points;
        file.set_len(n_whole as u64).map_err(io)?;
        if n_whole == 0 {
            file.write_all((results.points.header().line() + "\n").as_bytes()).map_err(io)?;
        }
        results.file = Some(Open { path, file });
        Ok(results)
    }

    pub fn points(&self) -> &Points {
        &self.points
    }

    /// Places of the shard's points that have no result.
    pub fn missing(&self) -> Vec<usize> {
        let mut missing = self.points.missing();
        missing.retain(|place| self.shard.contains(*place));
        missing
    }

    /// Number of points of the shard.
    pub fn n_points(&self) -> usize {
        (0..self.points.header().points.len()).filter(|place| self.shard.contains(*place)).count()
    }

    /// Takes the result of a point, and writes its line.
    pub fn note(&mut self, place: usize, result: Value) -> Result<(), Error> {
        let line = self.points.line(place, &result);
        if !self.points.add(place, result) {
            let file =
                self.file.as_ref().map_or("this run".to_string(), |open| open.path.display().to_string());
            let point = self.points.header().points[place].clone();
            return Err(Error::Contradiction { point, files: [file.clone(), file] });
        }
        let Some(open) = &mut self.file else { return Ok(()) };
        open.file
            .write_all(line.as_bytes())
            .map_err(|error| Error::Io { file: open.path.display().to_string(), error })
    }

    /// Sorts the file once every point of the shard has a result.
    pub fn finish(&mut self) -> Result<(), Error> {
        if !self.missing().is_empty() {
            return Ok(());
        }
        let Some(open) = self.file.take() else { return Ok(()) };
        let io = |error: std::io::Error| Error::Io { file: open.path.display().to_string(), error };
        let text = self.points.text();
        if std::fs::read(&open.path).map_err(io)? != text.as_bytes() {
            replace(&open.path, text.as_bytes()).map_err(io)?;
        }
        Ok(())
    }
}

/// Reads the points file at `path`, which must be there.
pub fn read(path: &Path) -> Result<Points, Error> {
    let name = path.display().to_string();
    let io = |error: std::io::Error| Error::Io { file: name.clone(), error };
    std::fs::metadata(path).map_err(io)?;
    let bytes = bytes(path).map_err(io)?;
    Ok(Points::parse(&name, &bytes)?.0)
}

/// The bytes of a file; none of a file that is not there. Others than regular files may have no end.
fn bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    match std::fs::metadata(path) {
        Ok(found) if !found.is_file() => {
            Err(std::io::Error::new(ErrorKind::InvalidInput, "a points file is a regular file"))
        }
        Ok(_) => std::fs::read(path),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// The points of a file's text that are of `header`, and the length of its whole lines.
fn take(name: &str, text: &[u8], header: &Header) -> Result<(Points, usize), Error> {
    // The first write was cut, or there was none.
    if !text.contains(&b'\n') && header.line().as_bytes().starts_with(text) {
        return Ok((Points::new(header.clone()), 0));
    }
    let (points, n_whole) = Points::parse(name, text)?;
    match header.difference(points.header()) {
        None => Ok((points, n_whole)),
        Some(difference) => Err(Error::Other { file: name.to_string(), difference }),
    }
}

/// Replaces a file: the new one is written under another name and renamed, so that there is always a whole one.
fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.new", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = (|| {
        let mut file = File::create(&temporary)?;
        file.set_permissions(std::fs::metadata(path)?.permissions())?;
        file.write_all(bytes)?;
        // Some file systems notice only now that there is no room.
        file.sync_all()?;
        std::fs::rename(&temporary, path)
    })();
    if written.is_err() {
        // The first error is the one to tell.
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn header() -> Header {
        let points = (0..6).map(|i| format!("p{i}")).collect();
        Header::new("test", 1, 1, json!({ "n": 1 }), points).unwrap()
    }

    fn open(path: &Path, shard: &str) -> Result<Results, String> {
        Results::open(Some(path), header(), shard.parse().unwrap()).map_err(|error| error.to_string())
    }

    /// Makes what is missing, from the last point to the first, and at most `n_max` points.
    fn make(results: &mut Results, n_max: usize) {
        for place in results.missing().into_iter().rev().take(n_max) {
            results.note(place, json!(place * 10)).unwrap();
        }
        results.finish().unwrap();
    }

    #[test]
    fn shards_and_interruptions_give_the_bytes_of_one_run() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        make(&mut open(&path("whole"), "1/1").unwrap(), usize::MAX);
        let whole = std::fs::read(path("whole")).unwrap();

        // Interrupted at every byte of the file, header included, and taken up again.
        for cut in 0..whole.len() {
            std::fs::write(path("cut"), &whole[..cut]).unwrap();
            make(&mut open(&path("cut"), "1/1").unwrap(), usize::MAX);
            assert_eq!(std::fs::read(path("cut")).unwrap(), whole, "{cut}");
        }

        for shard in ["1/2", "2/2"] {
            let file = path(&shard.replace('/', "-"));
            // A run that ends early, then one that goes on.
            make(&mut open(&file, shard).unwrap(), 1);
            let mut results = open(&file, shard).unwrap();
            assert_eq!((results.missing().len(), results.n_points()), (2, 3));
            make(&mut results, usize::MAX);
        }
        let files = ["2-2", "1-2"].map(|name| (name.to_string(), read(&path(name)).unwrap()));
        assert_eq!(crate::merge(files.to_vec()).unwrap().text().as_bytes(), whole);
        let names: Vec<_> = std::fs::read_dir(dir.path()).unwrap().flatten().map(|f| f.file_name()).collect();
        assert_eq!(names.len(), 4, "{names:?}");
    }

    #[test]
    fn results_are_kept_and_known() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("points");
        let mut results = open(&path, "1/1").unwrap();
        make(&mut results, 2);
        drop(results);
        let mut results = open(&path, "1/1").unwrap();
        assert_eq!(results.points().result(5), Some(&json!(50)));
        assert_eq!(results.missing(), [0, 1, 2, 3]);
        let fault = results.note(5, json!(51)).unwrap_err().to_string();
        assert!(fault.ends_with("the point `p5` has two different results"), "{fault}");
        // Whole files may be read-only.
        make(&mut results, usize::MAX);
        drop(results);
        let before = std::fs::metadata(&path).unwrap();
        make(&mut open(&path, "1/1").unwrap(), usize::MAX);
        assert_eq!(std::fs::metadata(&path).unwrap().modified().unwrap(), before.modified().unwrap());
    }

    #[test]
    fn wrong_files_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("points");
        let shown = path.display().to_string();
        let fault = || open(&path, "1/1").map(|_| ()).unwrap_err();
        std::fs::write(&path, "not points").unwrap();
        assert_eq!(fault(), format!("{shown}: this is not a points file"));
        assert_eq!(std::fs::read(&path).unwrap(), b"not points");
        let other = Header { version: 2, ..header() };
        std::fs::write(&path, other.line() + "\n").unwrap();
        assert_eq!(
            fault(),
            format!("{shown}: its points are of another sweep: the version of the sweep is 2, expected 1")
        );
        std::fs::remove_file(&path).unwrap();
        assert!(read(&path).unwrap_err().is_environment());
        std::fs::create_dir(&path).unwrap();
        assert_eq!(fault(), format!("{shown}: a points file is a regular file"));
        let nowhere = dir.path().join("no/points");
        assert!(open(&nowhere, "1/1").map(|_| ()).unwrap_err().contains("No such file"));
    }

    #[test]
    fn two_writers_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("points");
        let first = open(&path, "1/2").unwrap();
        let fault = open(&path, "2/2").map(|_| ()).unwrap_err();
        assert!(
            fault.ends_with("another process is writing to it; each shard needs a file of its own"),
            "{fault}"
        );
        drop(first);
        assert!(open(&path, "2/2").is_ok());
    }
}
