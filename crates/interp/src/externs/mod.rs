//! The extern functions and objects of all architectures.
//!
//! - [`Externs`]: the state of all extern objects, and the [`ExternHost`](crate::ExternHost) that programs call;
//! - [`Requests`]: what a program asks the architecture to do with its packet, and [`DigestMessage`]s;
//! - `hash`, `crc`, `checksum`, `lookup3`: functions of bytes;
//! - `random`: numbers that the same seed gives again;
//! - `objects`: arrays of counters, meters and registers.
//!
//! Invariants: an index beyond the last cell changes nothing, gives zero and leaves a note. All time is given.
//!
//! Start reading at [`Externs`].

pub mod checksum;
pub mod crc;
pub mod hash;
pub mod lookup3;
pub mod objects;
pub mod random;

mod call;

pub use target::{CloneKind, CloneRequest, DigestMessage, Preserve, Requests, UserExtern};

use crate::exec::LookedUp;
use crate::load::{Executable, Leaf, index_of};
use crate::meter::Colour;
use arch::{DirectObjects, ExternRole, Unit};
use hash::{HashAlgorithm, HashParameters, hash, pack};
use ir::{Bits, Constant, Object, ObjectId, TableId};
use objects::{CounterArray, MeterArray, RegisterArray};
use random::Random;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

/// The state of extern objects, and what the packet under way has asked for.
pub struct Externs {
    objects: Vec<ObjectState>,
    /// Meaning of the values of the architecture's enum of hash algorithms.
    algorithms: Vec<Option<HashAlgorithm>>,
    /// The members of the architecture's enum of clone types.
    clone_kinds: Vec<CloneKind>,
    pub hash_parameters: HashParameters,
    pub random: Random,
    user: FxHashMap<SmolStr, UserExtern>,
    /// The requests of the packet under way.
    pub requests: Requests,
    /// The colour that the direct meter of a table's entry, or of its default entry, gave the packet under way.
    colours: FxHashMap<TableId, Colour>,
    /// Results of `allocate_flow_id` up to now, the last of which is this number.
    pub n_flow_ids: u64,
    /// Messages that the program logs, and notes about calls without effect. The reader takes them out.
    pub log: Vec<String>,
    /// The notes of the call under way.
    notes: Vec<String>,
    drop_port: Option<u32>,
}

#[derive(Debug)]
pub(crate) enum ObjectState {
    Counter(CounterArray),
    Meter(MeterArray),
    Register(RegisterArray),
    /// An object without state.
    Other,
}

/// Lines that the log keeps until they are taken.
const LOG_LINES_MAX: usize = 10_000;

impl Externs {
    pub fn new(exe: &Executable, seed: u64) -> Externs {
        let members = |name: &str| {
            let found = exe.program.enums.iter().find(|(_, e)| e.name == name);
            found.map(|(_, e)| e.members.as_slice()).unwrap_or_default()
        };
        let algorithms = members("HashAlgorithm").iter().map(|(name, _)| HashAlgorithm::of_member(name));
        let clone_kinds = members("CloneType").iter().map(|(name, _)| match name.as_str() {
            "E2E" => CloneKind::Egress,
            _ => CloneKind::Ingress,
        });
        Externs {
            objects: exe.program.objects.iter().map(|(_, object)| ObjectState::new(exe, object)).collect(),
            algorithms: algorithms.collect(),
            clone_kinds: clone_kinds.collect(),
            hash_parameters: HashParameters::default(),
            random: Random::new(seed),
            user: FxHashMap::default(),
            requests: Requests::default(),
            colours: FxHashMap::default(),
            n_flow_ids: 0,
            log: Vec::new(),
            notes: Vec::new(),
            drop_port: exe.program.architecture.pipeline().and_then(|p| p.drop_port),
        }
    }

    /// Supplies an extern by its name: `function` or `type.method`.
    pub fn supply(&mut self, name: impl Into<SmolStr>, function: UserExtern) {
        self.user.insert(name.into(), function);
    }

    /// A new packet, or a copy of one, begins a block.
    pub fn begin_packet(&mut self) {
        self.requests = Requests::default();
        self.colours.clear();
    }

    pub(crate) fn object(&self, id: ObjectId) -> Option<&ObjectState> {
        self.objects.get(index_of(id))
    }

    pub fn counters(&mut self, id: ObjectId) -> Option<&mut CounterArray> {
        match self.objects.get_mut(index_of(id))? {
            ObjectState::Counter(array) => Some(array),
            ObjectState::Meter(_) | ObjectState::Register(_) | ObjectState::Other => None,
        }
    }

    pub fn meters(&mut self, id: ObjectId) -> Option<&mut MeterArray> {
        match self.objects.get_mut(index_of(id))? {
            ObjectState::Meter(array) => Some(array),
            ObjectState::Counter(_) | ObjectState::Register(_) | ObjectState::Other => None,
        }
    }

    pub fn register(&mut self, id: ObjectId) -> Option<&mut RegisterArray> {
        match self.objects.get_mut(index_of(id))? {
            ObjectState::Register(array) => Some(array),
            ObjectState::Counter(_) | ObjectState::Meter(_) | ObjectState::Other => None,
        }
    }

    /// Every lookup counts and meters for its entry, or for the default entry, whether or not the action says so.
    fn count_lookup(&mut self, lookup: LookedUp<'_>) {
        let program = &lookup.exe.program;
        if program.architecture.table_properties.direct_objects == DirectObjects::OnCall {
            return;
        }
        let decl = &program.tables[lookup.table];
        if decl.direct_counter.is_none() && decl.direct_meter.is_none() {
            return;
        }
        let Some(direct) = lookup.tables.direct(lookup.table, lookup.entry) else { return };
        let objects = &lookup.exe.program.objects;
        let unit_of = |wanted| {
            let object = objects.iter().find(|(id, _)| *id == wanted).map(|(_, object)| object);
            object.and_then(|object| unit_of(lookup.exe, object))
        };
        if let Some(counter) = decl.direct_counter {
            // A quantity that is not counted stays zero, as in counter arrays.
            let unit = unit_of(counter).unwrap_or(Unit::PacketsAndBytes);
            direct.count(unit, lookup.n_bytes);
        }
        if let Some(meter) = decl.direct_meter {
            let unit = unit_of(meter).unwrap_or(Unit::Packets);
            let colour = direct.meter.execute(Colour::Green, unit, lookup.n_bytes, lookup.now_ns);
            self.colours.insert(lookup.table, colour);
        }
    }

    fn note(&mut self, text: String) {
        if self.log.len() < LOG_LINES_MAX {
            self.log.push(text.clone());
        }
        self.notes.push(text);
    }

    /// The algorithm of a value of the architecture's enum.
    fn algorithm_of(&self, value: u64) -> Option<HashAlgorithm> {
        *self.algorithms.get(usize::try_from(value).ok()?)?
    }

    /// The hash of bit strings; `None` for an algorithm without a name.
    fn hash_values(
        &mut self,
        algorithm: Option<HashAlgorithm>,
        values: &[Bits],
        payload: &[u8],
    ) -> Option<u64> {
        let mut bytes = match algorithm? {
            HashAlgorithm::Lookup3 => hash::pack_little_endian(values),
            HashAlgorithm::Crc32
            | HashAlgorithm::Crc32Custom
            | HashAlgorithm::Crc16
            | HashAlgorithm::Crc16Custom
            | HashAlgorithm::Random
            | HashAlgorithm::Identity
            | HashAlgorithm::Csum16
            | HashAlgorithm::Xor16
            | HashAlgorithm::Toeplitz => pack(values),
        };
        bytes.extend_from_slice(payload);
        Some(hash(algorithm?, &self.hash_parameters, &bytes, &mut || self.random.next_u64()))
    }
}

impl ObjectState {
    fn new(exe: &Executable, object: &Object) -> ObjectState {
        let Some(model) = exe.program.architecture.control_plane_extern(&object.type_name) else {
            return ObjectState::Other;
        };
        let size =
            model.size.as_ref().and_then(|name| argument(object, name)).and_then(|value| match value {
                Constant::Bits(bits) => bits.to_u64(),
                _ => None,
            });
        let size = size.unwrap_or(0);
        match model.role {
            // A counter without unit counts what the program adds.
            ExternRole::Counter => {
                ObjectState::Counter(CounterArray::new(size, unit_of(exe, object).unwrap_or(Unit::Packets)))
            }
            ExternRole::Meter => {
                ObjectState::Meter(MeterArray::new(size, unit_of(exe, object).unwrap_or(Unit::Packets)))
            }
            ExternRole::Register => {
                let ty = object.type_args.get(model.data_type.unwrap_or(0));
                let mut widths = Vec::new();
                if let Some(ty) = ty {
                    exe.layout.for_each_leaf(&exe.program, ty, &mut |leaf| match leaf {
                        Leaf::Value(ty) => widths.push(ty.width_bits()),
                        Leaf::Valid | Leaf::NextIndex => {}
                    });
                }
                let mut array = RegisterArray::new(size, widths);
                if let Some(value) = argument(object, "initial_value") {
                    array.set_all(&value.leaves());
                }
                ObjectState::Register(array)
            }
            ExternRole::DirectCounter
            | ExternRole::DirectMeter
            | ExternRole::ActionProfile
            | ExternRole::ActionSelector
            | ExternRole::Digest => ObjectState::Other,
        }
    }
}

fn argument<'o>(object: &'o Object, name: &str) -> Option<&'o Constant> {
    object.args.iter().find(|(n, _)| n == name).map(|(_, value)| value)
}

/// The unit of a counter or meter, if it states one.
pub(crate) fn unit_of(exe: &Executable, object: &Object) -> Option<Unit> {
    let model = exe.program.architecture.control_plane_extern(&object.type_name)?;
    match argument(object, model.unit.as_ref()?)? {
        Constant::Member(name) => Unit::of_member(name),
        Constant::Bits(_)
        | Constant::Bool(_)
        | Constant::Str(_)
        | Constant::Object(_)
        | Constant::Fields(_) => None,
    }
}

/// Chooses a member of a group by the algorithm of its selector.
pub fn selector_hash(algorithm: &str, values: &[&Bits]) -> u64 {
    let values: Vec<Bits> = values.iter().map(|v| (*v).clone()).collect();
    let algorithm = match HashAlgorithm::of_member(algorithm) {
        // A packet with equal inputs has to find its member again.
        Some(HashAlgorithm::Random) | None => HashAlgorithm::Crc32,
        Some(algorithm) => algorithm,
    };
    hash(algorithm, &HashParameters::default(), &pack(&values), &mut || 0)
}
