//! Who may talk to a switch, and where its socket appears.

use crate::{Client, Tests, start};
use ctl::{Server, ServerError};
use dataplane::{Options, Switch};
use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Becomes another user on a thread of its own; `None` if this process may not.
fn as_nobody<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let run = || {
        rustix::thread::set_thread_uid(rustix::fs::Uid::from_raw(65534)).ok()?;
        Some(f())
    };
    let result = std::thread::spawn(run).join().unwrap();
    if result.is_none() {
        println!("skipped: only root can become another user");
    }
    result
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn only_the_user_of_the_switch_is_served() {
    let (_switch, server, dir) = start();
    let path = server.path().to_owned();
    let attempt = path.clone();
    let Some(kind) = as_nobody(move || UnixStream::connect(attempt).unwrap_err().kind()) else { return };
    assert_eq!(kind, std::io::ErrorKind::PermissionDenied);
    // Even where the modes let everybody in, the kernel tells who is there.
    for open in [dir.path(), path.parent().unwrap()] {
        set_mode(open, 0o755);
    }
    set_mode(&path, 0o666);
    let said = as_nobody(move || {
        let mut stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        // The server may have closed the connection already.
        let _ = stream.write_all(b"{\"version\":1,\"request\":\"shutdown\"}\n");
        let mut said = String::new();
        // Not to the end: a connection that is closed before it has read everything ends with an error.
        BufReader::new(stream).read_line(&mut said).unwrap();
        said
    });
    let said = said.unwrap();
    assert!(said.contains("belongs to user 65534, not to you"), "{said}");
    assert!(!server.is_shutdown_wanted());
    Client::new(&server).get(json!({ "request": "show", "what": "totals" }));
}

#[test]
fn a_switch_of_somebody_else_is_not_talked_to() {
    let dir = tempfile::tempdir().unwrap();
    set_mode(dir.path(), 0o777);
    let path = dir.path().join("0.ctl");
    let bound = path.clone();
    let Some(_listener) = as_nobody(move || UnixListener::bind(bound).unwrap()) else { return };
    set_mode(&path, 0o666);
    let error = ctl::connect(&path).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied, "{error}");
}

#[test]
fn a_socket_in_a_shared_directory_appears_with_its_mode() {
    let dir = tempfile::tempdir().unwrap();
    set_mode(dir.path(), 0o1777);
    let path = dir.path().join("x.ctl");
    let switch = Switch::start(Options::default()).unwrap();
    let server = Server::start(&path, &switch, Arc::new(Tests)).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let names = || std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names().collect::<Vec<_>>(), ["x.ctl"]);
    // Another socket at the path belongs to somebody else by the time that this server ends.
    std::fs::remove_file(&path).unwrap();
    let _other = UnixListener::bind(&path).unwrap();
    drop(server);
    assert_eq!(names().count(), 1);
    // A link is not followed to what it leads to.
    let (target, link) = (dir.path().join("victim"), dir.path().join("link.ctl"));
    std::fs::write(&target, "").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let refused = Server::start(&link, &switch, Arc::new(Tests));
    assert!(matches!(refused, Err(ServerError::NoSocket(_))), "{refused:?}");
    let too_long = dir.path().join("x".repeat(200));
    let refused = Server::start(&too_long, &switch, Arc::new(Tests));
    assert!(matches!(refused, Err(ServerError::System { .. })), "{refused:?}");
}
