//! Files of entries in columns.
//!
//! A file is 16 bytes of [`MAGIC`] and version, then frames. A frame is the length of its bytes and their CRC-32 (4 bytes each,
//! little endian), then the bytes: first a `FileHeader`, then `Chunk`s. A frame without bytes ends the file; its CRC is that
//! of all CRCs before, so a file that was cut is recognised.

use p4info::proto::siding::bulk::v1 as pb;
use prost::Message;
use std::io::{self, Read, Write};

/// The first bytes of a file.
pub const MAGIC: [u8; 12] = *b"siding bulk\n";
pub const VERSION: u32 = 1;
/// Frames are shorter.
const FRAME_BYTES_MAX: u32 = 256 << 20;

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("it is no file of entries, which begins with `siding bulk`")]
    NoFile,
    #[error("it has version {0}, and this program reads version {VERSION}")]
    Version(u32),
    #[error("it is damaged {at} bytes from its beginning: {why}")]
    Damaged { at: u64, why: &'static str },
}

/// Writes a file. It is complete after [`finish`](FileWriter::finish).
#[derive(Debug)]
pub struct FileWriter<W> {
    to: W,
    crcs: crc32fast::Hasher,
}

impl<W: Write> FileWriter<W> {
    pub fn new(mut to: W, header: &pb::FileHeader) -> io::Result<FileWriter<W>> {
        to.write_all(&MAGIC)?;
        to.write_all(&VERSION.to_le_bytes())?;
        let mut writer = FileWriter { to, crcs: crc32fast::Hasher::new() };
        writer.frame(&header.encode_to_vec())?;
        Ok(writer)
    }

    pub fn chunk(&mut self, chunk: &pb::Chunk) -> io::Result<()> {
        self.frame(&chunk.encode_to_vec())
    }

    fn frame(&mut self, bytes: &[u8]) -> io::Result<()> {
        let n_bytes = u32::try_from(bytes.len()).ok().filter(|n| (1..FRAME_BYTES_MAX).contains(n));
        let n_bytes = n_bytes.ok_or_else(|| io::Error::other("a chunk is empty or too long for a file"))?;
        let crc = crc32fast::hash(bytes).to_le_bytes();
        self.crcs.update(&crc);
        self.to.write_all(&n_bytes.to_le_bytes())?;
        self.to.write_all(&crc)?;
        self.to.write_all(bytes)
    }

    pub fn finish(mut self) -> io::Result<W> {
        self.to.write_all(&0u32.to_le_bytes())?;
        self.to.write_all(&self.crcs.finalize().to_le_bytes())?;
        self.to.flush()?;
        Ok(self.to)
    }
}

/// Reads a file. What it gives is complete once [`chunk`](FileReader::chunk) has returned `None`.
#[derive(Debug)]
pub struct FileReader<R> {
    from: R,
    at: u64,
    crcs: crc32fast::Hasher,
    pub header: pb::FileHeader,
}

impl<R: Read> FileReader<R> {
    pub fn new(mut from: R) -> Result<FileReader<R>, FileError> {
        let mut head = [0; 16];
        from.read_exact(&mut head).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => FileError::NoFile,
            _ => FileError::Io(error),
        })?;
        let (magic, version) = head.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(FileError::NoFile);
        }
        let version = version.try_into().map_or(0, u32::from_le_bytes);
        if version != VERSION {
            return Err(FileError::Version(version));
        }
        let header = pb::FileHeader::default();
        let mut reader = FileReader { from, at: 16, crcs: crc32fast::Hasher::new(), header };
        let at = reader.at;
        let bytes = reader.frame()?.ok_or(FileError::Damaged { at, why: "there is no header" })?;
        let header = pb::FileHeader::decode(bytes.as_slice());
        reader.header = header.map_err(|_| FileError::Damaged { at, why: "the header is no message" })?;
        Ok(reader)
    }

    /// The next chunk; `None` at the end.
    pub fn chunk(&mut self) -> Result<Option<pb::Chunk>, FileError> {
        let at = self.at;
        let Some(bytes) = self.frame()? else { return Ok(None) };
        let chunk = pb::Chunk::decode(bytes.as_slice());
        chunk.map(Some).map_err(|_| FileError::Damaged { at, why: "a chunk is no message" })
    }

    fn frame(&mut self) -> Result<Option<Vec<u8>>, FileError> {
        let at = self.at;
        let damaged = |why| FileError::Damaged { at, why };
        let cut = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => FileError::Damaged { at, why: "the file ends here" },
            _ => FileError::Io(error),
        };
        let mut words = [[0; 4]; 2];
        self.from.read_exact(words.as_flattened_mut()).map_err(cut)?;
        let [n_bytes, crc] = words.map(u32::from_le_bytes);
        if n_bytes == 0 {
            let is_whole = std::mem::take(&mut self.crcs).finalize() == crc;
            if !is_whole {
                return Err(damaged("frames are missing"));
            }
            return match self.from.read(&mut [0])? {
                0 => Ok(None),
                _ => Err(damaged("bytes are left behind its end")),
            };
        }
        if n_bytes >= FRAME_BYTES_MAX {
            return Err(damaged("a frame is too long"));
        }
        // No more memory than there are bytes, whatever the length says.
        let mut bytes = Vec::new();
        let n_read = self.from.by_ref().take(n_bytes.into()).read_to_end(&mut bytes)?;
        if n_read < n_bytes as usize {
            return Err(damaged("the file ends in a frame"));
        }
        if crc32fast::hash(&bytes) != crc {
            return Err(damaged("a checksum is wrong"));
        }
        self.crcs.update(&crc.to_le_bytes());
        self.at += 8 + u64::from(n_bytes);
        Ok(Some(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Vec<u8> {
        let header = pb::FileHeader { cookie: 7, ..pb::FileHeader::default() };
        let mut writer = FileWriter::new(Vec::new(), &header).unwrap();
        for number in 1..4 {
            writer.chunk(&pb::Chunk { number, ..pb::Chunk::default() }).unwrap();
        }
        writer.finish().unwrap()
    }

    /// The numbers of the chunks, and the error at which the file ends.
    fn read(bytes: &[u8]) -> (Vec<u64>, Option<String>) {
        let mut numbers = Vec::new();
        let mut all = || {
            let mut reader = FileReader::new(bytes)?;
            while let Some(chunk) = reader.chunk()? {
                numbers.push(chunk.number);
            }
            Ok::<_, FileError>(())
        };
        let error = all().err().map(|error| error.to_string());
        (numbers, error)
    }

    #[test]
    fn chunks_come_back() {
        assert_eq!(read(&file()), (vec![1, 2, 3], None));
        assert_eq!(FileReader::new(file().as_slice()).unwrap().header.cookie, 7);
    }

    #[test]
    fn every_cut_and_every_changed_bit_is_seen() {
        let file = file();
        for n in 0..file.len() {
            let (numbers, error) = read(&file[..n]);
            assert!(error.is_some() && [1, 2, 3].starts_with(&numbers), "{n}");
        }
        for bit in 0..file.len() * 8 {
            let mut changed = file.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let (numbers, error) = read(&changed);
            assert!(error.is_some() && [1, 2, 3].starts_with(&numbers), "bit {bit}: {numbers:?}");
        }
        let longer = [file.as_slice(), &file].concat();
        assert!(read(&longer).1.unwrap().contains("left behind its end"));
        // A frame is left out.
        let mut without = file.clone();
        let frame = 16 + 8 + 2..16 + 8 + 2 + 8 + 2;
        without.drain(frame);
        assert!(read(&without).1.unwrap().contains("frames are missing"), "{:?}", read(&without));
    }
}
