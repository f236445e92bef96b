//! Associations that threads share, and their file, which may change.

use super::associations::{Association, Associations, read};
use ring::rand::{SecureRandom, SystemRandom};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime};

/// How often the file is looked at.
const PERIOD: Duration = Duration::from_secs(1);

type ByIndex = Arc<HashMap<u32, Arc<Association>>>;

/// Files that this process uses.
static FILES: Mutex<Vec<(PathBuf, Weak<Database>)>> = Mutex::new(Vec::new());

pub(super) struct Database {
    file: Option<PathBuf>,
    /// Grows with each change of the associations.
    version: AtomicU64,
    contents: Mutex<Contents>,
}

struct Contents {
    associations: ByIndex,
    /// The file as it was read last.
    modified: Option<SystemTime>,
    looked_at: Instant,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // No state is left half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Database {
    pub(super) fn empty() -> Database {
        let contents =
            Contents { associations: ByIndex::default(), modified: None, looked_at: Instant::now() };
        Database { file: None, version: AtomicU64::new(0), contents: Mutex::new(contents) }
    }

    /// The associations of a file. All threads of the process share them, unless the file is repeatable.
    pub(super) fn of_file(path: &str) -> Result<Arc<Database>, String> {
        let path = std::fs::canonicalize(path).map_err(|error| format!("cannot read {path}: {error}"))?;
        let mut files = lock(&FILES);
        let (file, modified) = load(&path)?;
        files.retain(|(_, database)| database.strong_count() > 0);
        let known = files.iter().find(|(known, _)| *known == path && !file.is_repeatable);
        if let Some(database) = known.and_then(|(_, database)| database.upgrade()) {
            return Ok(database);
        }
        let associations = updated(&file, &ByIndex::default())?;
        let contents = Contents { associations, modified, looked_at: Instant::now() };
        let database = Arc::new(Database {
            file: Some(path.clone()),
            version: AtomicU64::new(0),
            contents: Mutex::new(contents),
        });
        if !file.is_repeatable {
            files.push((path, Arc::downgrade(&database)));
        }
        Ok(database)
    }

    /// Reads the file again if it has changed. A file with a fault changes nothing.
    fn look(&self) {
        let Some(path) = &self.file else { return };
        let mut contents = lock(&self.contents);
        if contents.looked_at.elapsed() < PERIOD {
            return;
        }
        contents.looked_at = Instant::now();
        let modified = modified(path);
        if modified == contents.modified {
            return;
        }
        contents.modified = modified;
        match load(path).and_then(|(file, _)| updated(&file, &contents.associations)) {
            Ok(associations) => {
                contents.associations = associations;
                self.version.fetch_add(1, Ordering::Release);
            }
            Err(fault) => eprintln!("warning: ipsec_esp keeps its associations: {fault}"),
        }
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|data| data.modified()).ok()
}

fn load(path: &Path) -> Result<(Associations, Option<SystemTime>), String> {
    // Read before the contents, so that a change in between is noticed.
    let modified = modified(path);
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let file = read(&text).map_err(|fault| format!("{}: {fault}", path.display()))?;
    Ok((file, modified))
}

/// The associations of a file; those that have not changed keep their sequence numbers and windows.
fn updated(file: &Associations, before: &ByIndex) -> Result<ByIndex, String> {
    let mut associations = HashMap::new();
    for (index, text) in &file.texts {
        let kept = before.get(index).filter(|known| known.text == *text);
        let association = match kept {
            Some(known) => Arc::clone(known),
            None => {
                let mut vector = [0; 4];
                if !file.is_repeatable {
                    SystemRandom::new()
                        .fill(&mut vector)
                        .map_err(|_| "there are no random numbers".to_owned())?;
                }
                Arc::new(text.association(vector)?)
            }
        };
        associations.insert(*index, association);
    }
    Ok(Arc::new(associations))
}

/// The associations as one thread sees them.
pub(super) struct Reader {
    database: Arc<Database>,
    associations: ByIndex,
    version: u64,
    looked_at: Instant,
}

impl Reader {
    pub(super) fn new(database: Arc<Database>) -> Reader {
        let version = database.version.load(Ordering::Acquire);
        let associations = Arc::clone(&lock(&database.contents).associations);
        Reader { database, associations, version, looked_at: Instant::now() }
    }

    /// Returns the association with this index. Changes of the file show within two seconds.
    pub(super) fn find(&mut self, index: u32) -> Option<&Association> {
        if self.looked_at.elapsed() >= PERIOD {
            self.looked_at = Instant::now();
            self.database.look();
        }
        let version = self.database.version.load(Ordering::Acquire);
        if version != self.version {
            self.associations = Arc::clone(&lock(&self.database.contents).associations);
            self.version = version;
        }
        self.associations.get(&index).map(Arc::as_ref)
    }
}
