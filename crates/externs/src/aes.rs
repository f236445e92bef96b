//! Encryption of payloads with AES: GCM (NIST SP 800-38D), CBC and CTR (SP 800-38A).
//!
//! GCM with keys of 128 and 256 bits uses `ring`, which is several times as fast; GCM with 192 bits, which
//! `ring` lacks, and the other modes use RustCrypto. Both use the processor's AES instructions if it has
//! them. All work is done in the packet. A call that fails, for lack of room, for a wrong length or a wrong
//! tag, returns `false` and leaves the packet unchanged.

use crate::call::{CallView, State, c_function, close, open};
use crate::library::{BuiltIn, PacketUse};
use crate::packet::PACKET_BYTES_MAX;
use aes::cipher::block_padding::NoPadding;
use aes::cipher::{BlockDecryptMut, BlockEncryptMut, InnerIvInit, KeyInit, StreamCipherCore};
use aes::{Aes128, Aes192, Aes256};
use aes_gcm::aead::AeadInPlace;
use aes_gcm::aead::consts::U12;
use aes_gcm::{AesGcm, Nonce, Tag};
use ring::aead::{AES_128_GCM, AES_256_GCM, Aad, Algorithm, LessSafeKey, UnboundKey};

const TAG_BYTES: usize = 16;
const BLOCK_BYTES: usize = 16;

/// Number of key schedules cached per state.
const N_KEYS: usize = 64;

macro_rules! built_in {
    ($name:literal, $declaration:literal, $state:ty, $run:ident) => {
        BuiltIn {
            name: $name,
            declaration: $declaration,
            packet: PacketUse::Changed,
            open: Some(open::<$state>),
            close: Some(close::<$state>),
            run: $run,
            run_batch: None,
        }
    };
}

pub(crate) const EXTERNS: &[BuiltIn] = &[
    built_in!(
        "aes_gcm_encrypt",
        "bool aes_gcm_encrypt(in bit<16> offset, in bit<128|192|256> key, in bit<96> nonce)",
        Keys<Gcm>,
        gcm_encrypt
    ),
    built_in!(
        "aes_gcm_decrypt",
        "bool aes_gcm_decrypt(in bit<16> offset, in bit<128|192|256> key, in bit<96> nonce)",
        Keys<Gcm>,
        gcm_decrypt
    ),
    built_in!(
        "aes_cbc_encrypt",
        "bool aes_cbc_encrypt(in bit<16> offset, in bit<128|192|256> key, in bit<128> iv)",
        Keys<Plain>,
        cbc_encrypt
    ),
    built_in!(
        "aes_cbc_decrypt",
        "bool aes_cbc_decrypt(in bit<16> offset, in bit<128|192|256> key, in bit<128> iv)",
        Keys<Plain>,
        cbc_decrypt
    ),
    built_in!(
        "aes_ctr_encrypt",
        "bool aes_ctr_encrypt(in bit<16> offset, in bit<128|192|256> key, in bit<128> counter)",
        Keys<Plain>,
        ctr_apply
    ),
    built_in!(
        "aes_ctr_decrypt",
        "bool aes_ctr_decrypt(in bit<16> offset, in bit<128|192|256> key, in bit<128> counter)",
        Keys<Plain>,
        ctr_apply
    ),
];

c_function!(gcm_encrypt, Keys<Gcm>, encrypt_gcm);
c_function!(gcm_decrypt, Keys<Gcm>, decrypt_gcm);
c_function!(cbc_encrypt, Keys<Plain>, encrypt_cbc);
c_function!(cbc_decrypt, Keys<Plain>, decrypt_cbc);
c_function!(ctr_apply, Keys<Plain>, apply_ctr);

/// A key schedule: everything that depends on the key alone.
trait Schedule: Sized {
    /// Returns `None` if the key is not 16, 24 or 32 bytes long.
    fn new(key: &[u8]) -> Option<Self>;
}

/// Key schedule for GCM.
#[expect(clippy::large_enum_variant, reason = "there are few, and a call allocates nothing")]
enum Gcm {
    Of192(AesGcm<Aes192, U12>),
    /// 128 and 256 bits.
    Other(LessSafeKey),
}

/// Key schedule for modes that need only the cipher.
enum Plain {
    Of128(Aes128),
    Of192(Aes192),
    Of256(Aes256),
}

impl Schedule for Gcm {
    fn new(key: &[u8]) -> Option<Gcm> {
        let other = |algorithm: &'static Algorithm| {
            UnboundKey::new(algorithm, key).ok().map(|key| Gcm::Other(LessSafeKey::new(key)))
        };
        match key.len() {
            16 => other(&AES_128_GCM),
            24 => AesGcm::new_from_slice(key).ok().map(Gcm::Of192),
            32 => other(&AES_256_GCM),
            _ => None,
        }
    }
}

impl Schedule for Plain {
    fn new(key: &[u8]) -> Option<Plain> {
        Some(match key.len() {
            16 => Plain::Of128(Aes128::new_from_slice(key).ok()?),
            24 => Plain::Of192(Aes192::new_from_slice(key).ok()?),
            32 => Plain::Of256(Aes256::new_from_slice(key).ok()?),
            _ => return None,
        })
    }
}

/// Cache of the schedules of recently used keys.
struct Keys<T> {
    cached: Vec<CachedSchedule<T>>,
    /// Number of uses, for replacing the least recently used schedule.
    clock: u64,
    /// Copy of a text before its decryption.
    before: Vec<u8>,
}

struct CachedSchedule<T> {
    key: [u8; 32],
    n_bytes: usize,
    used: u64,
    schedule: T,
}

impl<T: Schedule> State for Keys<T> {
    fn open(_option: Option<&str>) -> Result<Keys<T>, String> {
        Ok(Keys {
            cached: Vec::with_capacity(N_KEYS),
            clock: 0,
            before: Vec::with_capacity(PACKET_BYTES_MAX),
        })
    }
}

impl<T: Schedule> Keys<T> {
    /// Returns the schedule for the first `n_bytes` of `key`, from the cache if it is there.
    fn of(&mut self, key: &[u8; 32], n_bytes: usize) -> Option<&mut T> {
        self.clock += 1;
        let found = self.cached.iter().position(|one| one.n_bytes == n_bytes && one.key == *key);
        let at = match found {
            Some(at) => at,
            None => {
                let schedule = T::new(key.get(..n_bytes)?)?;
                let new = CachedSchedule { key: *key, n_bytes, used: 0, schedule };
                let oldest = self.cached.iter().enumerate().min_by_key(|(_, one)| one.used).map(|(at, _)| at);
                match oldest.filter(|_| self.cached.len() >= N_KEYS) {
                    Some(at) => {
                        self.cached[at] = new;
                        at
                    }
                    None => {
                        self.cached.push(new);
                        self.cached.len() - 1
                    }
                }
            }
        };
        let found = self.cached.get_mut(at)?;
        found.used = self.clock;
        Some(&mut found.schedule)
    }
}

/// Returns offset, key schedule and the third argument of a call.
fn arguments<'k, T: Schedule, const N: usize>(
    keys: &'k mut Keys<T>,
    call: &CallView<'_>,
) -> Option<(usize, &'k mut T, [u8; N])> {
    let mut key = [0; 32];
    let n_bytes = call.big_endian(1, &mut key);
    let mut third = [0; N];
    call.big_endian(2, &mut third);
    Some((usize::try_from(call.number(0)).ok()?, keys.of(&key, n_bytes)?, third))
}

fn encrypt_gcm(keys: &mut Keys<Gcm>, call: &mut CallView<'_>) {
    let length = seal(keys, call);
    finish(call, length);
}

fn decrypt_gcm(keys: &mut Keys<Gcm>, call: &mut CallView<'_>) {
    let length = unseal(keys, call);
    finish(call, length);
}

/// Sets the result of a call, and the payload's length; `None` means that the call failed.
fn finish(call: &mut CallView<'_>, length: Option<usize>) {
    if let Some(length) = length {
        call.set_payload_length(length);
    }
    call.set_result(u64::from(length.is_some()));
}

/// Encrypts; returns the payload's length with the tag.
fn seal(keys: &mut Keys<Gcm>, call: &mut CallView<'_>) -> Option<usize> {
    let (offset, gcm, nonce) = arguments::<_, 12>(keys, call)?;
    let payload = call.payload()?;
    let with_tag = payload.length.checked_add(TAG_BYTES)?;
    let (authenticated, rest) = payload.room.get_mut(..with_tag)?.split_at_mut_checked(offset)?;
    let (text, tag) = rest.split_at_mut_checked(payload.length.checked_sub(offset)?)?;
    match gcm {
        Gcm::Of192(gcm) => {
            let made = gcm.encrypt_in_place_detached(Nonce::from_slice(&nonce), authenticated, text).ok()?;
            tag.copy_from_slice(&made);
        }
        Gcm::Other(key) => {
            // The program is responsible for unique nonces.
            let nonce = ring::aead::Nonce::assume_unique_for_key(nonce);
            let made = key.seal_in_place_separate_tag(nonce, Aad::from(&*authenticated), text).ok()?;
            tag.copy_from_slice(made.as_ref());
        }
    }
    Some(with_tag)
}

/// Decrypts; returns the payload's length without the tag.
fn unseal(keys: &mut Keys<Gcm>, call: &mut CallView<'_>) -> Option<usize> {
    let mut before = std::mem::take(&mut keys.before);
    let length = unseal_with(keys, call, &mut before);
    keys.before = before;
    length
}

fn unseal_with(keys: &mut Keys<Gcm>, call: &mut CallView<'_>, before: &mut Vec<u8>) -> Option<usize> {
    let (offset, gcm, nonce) = arguments::<_, 12>(keys, call)?;
    let payload = call.payload()?;
    let without_tag = payload.length.checked_sub(TAG_BYTES)?;
    let (authenticated, rest) = payload.room.get_mut(..payload.length)?.split_at_mut_checked(offset)?;
    match gcm {
        Gcm::Of192(gcm) => {
            let (text, tag) = rest.split_at_mut_checked(without_tag.checked_sub(offset)?)?;
            let (nonce, tag) = (Nonce::from_slice(&nonce), Tag::from_slice(tag));
            // The tag is verified before anything is decrypted.
            gcm.decrypt_in_place_detached(nonce, authenticated, text, tag).ok()?;
        }
        Gcm::Other(key) => {
            if rest.len() < TAG_BYTES {
                return None;
            }
            // Decryption and verification are one pass, which destroys the text if the tag is wrong.
            before.clear();
            before.extend_from_slice(rest);
            let nonce = ring::aead::Nonce::assume_unique_for_key(nonce);
            if key.open_in_place(nonce, Aad::from(&*authenticated), rest).is_err() {
                rest.copy_from_slice(before);
                return None;
            }
        }
    }
    Some(without_tag)
}

/// Returns the payload from `offset` on.
fn text_at<'v>(call: &'v mut CallView<'_>, offset: usize) -> Option<&'v mut [u8]> {
    let payload = call.payload()?;
    payload.room.get_mut(..payload.length)?.get_mut(offset..)
}

fn encrypt_cbc(keys: &mut Keys<Plain>, call: &mut CallView<'_>) {
    let done = cbc_in(keys, call, |plain, iv, text| {
        let n = text.len();
        let iv = iv.into();
        match plain {
            Plain::Of128(aes) => {
                cbc::Encryptor::inner_iv_init(&*aes, iv).encrypt_padded_mut::<NoPadding>(text, n).is_ok()
            }
            Plain::Of192(aes) => {
                cbc::Encryptor::inner_iv_init(&*aes, iv).encrypt_padded_mut::<NoPadding>(text, n).is_ok()
            }
            Plain::Of256(aes) => {
                cbc::Encryptor::inner_iv_init(&*aes, iv).encrypt_padded_mut::<NoPadding>(text, n).is_ok()
            }
        }
    });
    call.set_result(u64::from(done == Some(true)));
}

fn decrypt_cbc(keys: &mut Keys<Plain>, call: &mut CallView<'_>) {
    let done = cbc_in(keys, call, |plain, iv, text| {
        let iv = iv.into();
        match plain {
            Plain::Of128(aes) => {
                cbc::Decryptor::inner_iv_init(&*aes, iv).decrypt_padded_mut::<NoPadding>(text).is_ok()
            }
            Plain::Of192(aes) => {
                cbc::Decryptor::inner_iv_init(&*aes, iv).decrypt_padded_mut::<NoPadding>(text).is_ok()
            }
            Plain::Of256(aes) => {
                cbc::Decryptor::inner_iv_init(&*aes, iv).decrypt_padded_mut::<NoPadding>(text).is_ok()
            }
        }
    });
    call.set_result(u64::from(done == Some(true)));
}

fn cbc_in(
    keys: &mut Keys<Plain>,
    call: &mut CallView<'_>,
    work: impl FnOnce(&mut Plain, &[u8; BLOCK_BYTES], &mut [u8]) -> bool,
) -> Option<bool> {
    let (offset, plain, iv) = arguments::<_, BLOCK_BYTES>(keys, call)?;
    let text = text_at(call, offset)?;
    (text.len() % BLOCK_BYTES == 0).then(|| work(plain, &iv, text))
}

fn apply_ctr(keys: &mut Keys<Plain>, call: &mut CallView<'_>) {
    let done = ctr_in(keys, call).is_some();
    call.set_result(u64::from(done));
}

/// Counter mode with a counter of a whole block, as in SP 800-38A.
type Counted<C> = ctr::CtrCore<C, ctr::flavors::Ctr128BE>;

fn ctr_in(keys: &mut Keys<Plain>, call: &mut CallView<'_>) -> Option<()> {
    let (offset, plain, counter) = arguments::<_, BLOCK_BYTES>(keys, call)?;
    let text = text_at(call, offset)?;
    let (counter, text) = ((&counter).into(), text.into());
    match plain {
        Plain::Of128(aes) => Counted::inner_iv_init(&*aes, counter).apply_keystream_partial(text),
        Plain::Of192(aes) => Counted::inner_iv_init(&*aes, counter).apply_keystream_partial(text),
        Plain::Of256(aes) => Counted::inner_iv_init(&*aes, counter).apply_keystream_partial(text),
    }
    Some(())
}
