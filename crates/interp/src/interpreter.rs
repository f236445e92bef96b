//! The backend that follows the IR: a program with its tables and extern objects.

use crate::exec::{BlockEnd, Machine, PacketState};
use crate::externs::objects::{Count, OutOfRange};
use crate::externs::{Externs, ObjectState, selector_hash};
use crate::load::{Executable, LoadError, SlotRange};
use crate::meter::MeterRates;
use crate::table::{EntryHandle, EntryRef, Group, Matches, NewEntry, TableError, Tables};
use arch::{BlockIndex, BlockRole, FieldRole, ParamRole};
use control::Schema;
use diagnostics::Span;
use ir::{Action, Bits, BlockId, ObjectId, Program, TableId, ValueSetId};
use std::sync::Arc;
use target::store::shape::TableShapes;
use target::store::{ColourCounts, DirectCells, StoredEntry, TableUse};
use target::{BlockRunner, Config, Device, PortState, Preserve, Requests, Store, TrafficEvent, UserExtern};
use trace::{Event, Observer};

/// Runs blocks instruction by instruction.
pub struct Interpreter {
    exe: Arc<Executable>,
    pub tables: Tables,
    pub externs: Externs,
    /// True when packets wait at asynchronous blocks; otherwise the blocks run in place.
    may_wait: bool,
    /// By their index in the description of the architecture.
    blocks: Vec<Option<BlockId>>,
    /// Which of them are deparsers.
    deparsers: Vec<bool>,
}

/// A switch whose blocks are interpreted.
pub type Switch = target::Switch<Interpreter>;

/// An interpreter with its control plane.
pub type InterpretedDevice = Device<Interpreter>;

/// A switch with the entries that the program declares.
pub fn switch(program: impl Into<Arc<Program>>, config: Config) -> Result<Switch, LoadError> {
    let interpreter = Interpreter::new(program, &config)?;
    Ok(target::Switch::new(interpreter, config)?)
}

/// An interpreter with its control plane. It begins with the entries that the program declares.
pub fn interpreter(
    program: impl Into<Arc<Program>>,
    schema: impl Into<Arc<Schema>>,
    config: Config,
) -> Result<InterpretedDevice, LoadError> {
    let interpreter = Interpreter::new(program, &config)?;
    Ok(Device::new(interpreter, schema, config)?)
}

impl Interpreter {
    /// An interpreter with the entries that the program declares.
    pub fn new(program: impl Into<Arc<Program>>, config: &Config) -> Result<Interpreter, LoadError> {
        let exe = Executable::new(program, config.load)?;
        let mut tables = Tables::new(&exe, config.load)?;
        tables.selector_hash = selector_hash;
        let blocks = exe.program.described_blocks();
        let described = exe.program.architecture.pipeline().map_or(&[][..], |model| &model.blocks);
        let deparsers = described.iter().map(|block| block.role == BlockRole::Deparser).collect();
        Ok(Interpreter {
            tables,
            externs: Externs::new(&exe, config.seed),
            exe: Arc::new(exe),
            may_wait: false,
            blocks,
            deparsers,
        })
    }

    pub fn executable(&self) -> &Executable {
        &self.exe
    }
}

impl BlockRunner for Interpreter {
    type Packet = PacketState;
    type Saved = Vec<(SlotRange, Vec<Bits>)>;
    type Observer<'o> = dyn Observer + 'o;

    fn program(&self) -> &Arc<Program> {
        &self.exe.program
    }

    fn arrive(&mut self, bytes: &[u8]) -> PacketState {
        let may_wait = self.may_wait;
        PacketState { bytes: bytes.to_vec(), may_wait, ..PacketState::new(&self.exe) }
    }

    fn clock_advanced(&mut self, now_ns: u64) {
        self.tables.remove_ended(now_ns);
    }

    fn restart(&mut self, packet: &mut PacketState) {
        packet.reset(&self.exe);
    }

    fn bytes<'p>(&self, packet: &'p PacketState) -> &'p [u8] {
        &packet.bytes
    }

    fn take_bytes(&mut self, packet: PacketState) -> Vec<u8> {
        packet.bytes
    }

    fn set_bytes(&mut self, packet: &mut PacketState, bytes: Vec<u8>) {
        packet.bytes = bytes;
    }

    fn deparsed_bytes(&self, packet: &PacketState) -> Vec<u8> {
        packet.deparsed_bytes()
    }

    fn reset_metadata(&mut self, packet: &mut PacketState) {
        for role in [ParamRole::Metadata, ParamRole::StandardMetadata, ParamRole::OutputMetadata] {
            if let Some(range) = self.exe.shared(role) {
                let initial = &self.exe.initial()[range.indices()];
                packet.frame.range_mut(range).clone_from_slice(initial);
            }
        }
    }

    fn field(&self, packet: &PacketState, role: FieldRole) -> Option<u64> {
        self.exe.field(role).map(|slot| packet.frame.get(slot).low_u64())
    }

    fn set_field(&self, packet: &mut PacketState, role: FieldRole, value: u64) {
        for &slot in self.exe.fields(role) {
            let width = packet.frame.get(slot).width();
            packet.frame.set(slot, Bits::new(width, u128::from(value)));
        }
    }

    fn accepted(&self, packet: &PacketState) -> Option<bool> {
        let range = self.exe.shared(ParamRole::Accept).filter(|range| range.len > 0)?;
        Some(packet.frame.get(range.first).is_true())
    }

    fn save(&self, packet: &PacketState, preserve: &Preserve) -> Self::Saved {
        let ranges = match preserve {
            Preserve::Nothing => None,
            Preserve::FieldList(index) => self.exe.field_list(*index),
        };
        let ranges = ranges.unwrap_or_default().into_iter();
        ranges.map(|range| (range, packet.frame.range(range).to_vec())).collect()
    }

    fn restore(&self, packet: &mut PacketState, saved: &Self::Saved) {
        for (range, values) in saved {
            packet.frame.range_mut(*range).clone_from_slice(values);
        }
    }

    fn begin_pass(&mut self) {
        self.externs.begin_packet();
    }

    fn run(
        &mut self,
        block: BlockIndex,
        packet: &mut PacketState,
        now_ns: u64,
        observer: &mut (dyn Observer + '_),
    ) -> BlockEnd {
        // Each deparser begins anew; a program without it emits nothing.
        if self.deparsers.get(block) == Some(&true) && packet.waits_at.is_none() {
            packet.emitted.clear();
        }
        let Some(block) = self.blocks.get(block).copied().flatten() else { return BlockEnd::Done };
        let mut machine =
            Machine { exe: &self.exe, tables: &mut self.tables, externs: &mut self.externs, now_ns };
        machine.run_block(block, packet, observer)
    }

    fn take_requests(&mut self) -> Requests {
        std::mem::take(&mut self.externs.requests)
    }

    fn put_requests_back(&mut self, requests: Requests) {
        self.externs.requests = requests;
    }

    /// Programs with direct meters let no packets wait: what a meter has said of one is not kept.
    fn let_packets_wait(&mut self, may_wait: bool) {
        let has_colours = self.exe.program.tables.iter().any(|(_, table)| table.direct_meter.is_some());
        self.may_wait = may_wait && !has_colours;
    }

    fn supply(&mut self, name: &str, function: UserExtern) {
        self.externs.supply(name, function);
    }

    fn set_port(&mut self, port: u32, state: PortState) {
        match state {
            PortState::Up => self.tables.ports_down.remove(&port),
            PortState::Down => self.tables.ports_down.insert(port),
        };
    }

    fn tell(&self, observer: &mut (dyn Observer + '_), event: TrafficEvent<'_>) {
        if observer.listens() {
            observer.event(&self.exe, Span::NONE, Event::Traffic(event));
        }
    }
}

/// Error of an access to an object without cells.
const fn no_cells(index: u64) -> OutOfRange {
    OutOfRange { index, size: 0 }
}

impl Store for Interpreter {
    fn table_uses(&self) -> Vec<TableUse> {
        self.tables.uses()
    }

    fn table_shapes(&self) -> &TableShapes {
        self.tables.shapes()
    }

    fn at_once(&self, work: &mut dyn FnMut()) {
        work();
    }

    fn change_at_once(&mut self, work: &mut dyn FnMut(&mut dyn Store)) {
        work(self);
    }

    fn find(&self, table: TableId, matches: &Matches, priority: i32) -> Option<EntryHandle> {
        Some(self.tables.table(table)?.find(matches, priority)?.handle)
    }

    fn entry(&self, table: TableId, handle: EntryHandle) -> Option<StoredEntry> {
        Some(self.tables.table(table)?.get(handle)?.read())
    }

    fn visit_entries_after(
        &self,
        table: TableId,
        after: Option<EntryHandle>,
        n_max: usize,
        visit: &mut dyn FnMut(StoredEntry),
    ) {
        let Some(table) = self.tables.table(table) else { return };
        table.entries_after(after, n_max).into_iter().for_each(|entry| visit(entry.read()));
    }

    fn insert(&mut self, table: TableId, entry: NewEntry, now_ns: u64) -> Result<EntryHandle, TableError> {
        self.tables.insert(table, entry, now_ns)
    }

    fn modify(&mut self, table: TableId, entry: NewEntry, now_ns: u64) -> Result<EntryHandle, TableError> {
        self.tables.modify(table, entry, now_ns)
    }

    fn delete(
        &mut self,
        table: TableId,
        matches: &Matches,
        priority: i32,
    ) -> Result<EntryHandle, TableError> {
        self.tables.delete(table, matches, priority).map(|entry| entry.handle)
    }

    fn default_action(&self, table: TableId) -> Option<Action> {
        Some(self.tables.table(table)?.default_action().clone())
    }

    fn set_default_action(&mut self, table: TableId, action: Option<Action>) -> Result<(), TableError> {
        self.tables.set_default(table, action)
    }

    fn direct(&self, table: TableId, entry: EntryRef) -> Option<DirectCells> {
        let table = self.tables.table(table)?;
        match entry {
            EntryRef::Default => Some(table.default_direct().read()),
            EntryRef::Entry(handle) => table.get(handle).map(|entry| entry.direct.read()),
        }
    }

    fn set_direct_count(&mut self, table: TableId, entry: EntryRef, count: Count) -> Result<(), TableError> {
        let direct = self.tables.direct(table, entry).ok_or(TableError::NotFound)?;
        (direct.n_packets, direct.n_bytes) = (count.n_packets, count.n_bytes);
        Ok(())
    }

    fn set_direct_rates(
        &mut self,
        table: TableId,
        entry: EntryRef,
        rates: Option<MeterRates>,
        now_ns: u64,
    ) -> Result<(), TableError> {
        let direct = self.tables.direct(table, entry).ok_or(TableError::NotFound)?;
        direct.meter.set_rates(rates, now_ns);
        Ok(())
    }

    fn set_direct_colours(
        &mut self,
        table: TableId,
        entry: EntryRef,
        colours: ColourCounts,
    ) -> Result<(), TableError> {
        let direct = self.tables.direct(table, entry).ok_or(TableError::NotFound)?;
        direct.meter.colours = colours;
        Ok(())
    }

    fn remove_ended(&mut self, now_ns: u64) {
        self.tables.remove_ended(now_ns);
    }

    fn set_profile(&mut self, table: TableId, profile: u8, timeout_ns: u64) -> bool {
        self.tables.set_profile(table, profile, timeout_ns)
    }

    fn profile_timeout(&self, table: TableId, profile: u8) -> Option<u64> {
        self.tables.profile_timeout(table, profile)
    }

    fn n_flow_ids(&self) -> u64 {
        self.externs.n_flow_ids
    }

    fn raise_flow_ids(&mut self, at_least: u64) {
        self.externs.n_flow_ids = self.externs.n_flow_ids.max(at_least);
    }

    fn take_expired(&mut self, now_ns: u64) -> Vec<(TableId, EntryHandle)> {
        self.tables.take_expired(now_ns)
    }

    fn visit_members(&self, profile: ObjectId, visit: &mut dyn FnMut(u32, Action)) {
        let Some(profile) = self.tables.profile(profile) else { return };
        profile.members.iter().for_each(|(id, action)| visit(*id, action.clone()));
    }

    fn insert_member(&mut self, profile: ObjectId, id: u32, action: Action) -> Result<(), TableError> {
        self.tables.insert_member(profile, id, action)
    }

    fn modify_member(&mut self, profile: ObjectId, id: u32, action: Action) -> Result<(), TableError> {
        self.tables.modify_member(profile, id, action)
    }

    fn delete_member(&mut self, profile: ObjectId, id: u32) -> Result<(), TableError> {
        self.tables.delete_member(profile, id)
    }

    fn visit_groups(&self, profile: ObjectId, visit: &mut dyn FnMut(u32, Group)) {
        let Some(profile) = self.tables.profile(profile) else { return };
        profile.groups.iter().for_each(|(id, group)| visit(*id, group.clone()));
    }

    fn insert_group(&mut self, profile: ObjectId, id: u32, group: Group) -> Result<(), TableError> {
        self.tables.insert_group(profile, id, group)
    }

    fn modify_group(&mut self, profile: ObjectId, id: u32, group: Group) -> Result<(), TableError> {
        self.tables.modify_group(profile, id, group)
    }

    fn delete_group(&mut self, profile: ObjectId, id: u32) -> Result<(), TableError> {
        self.tables.delete_group(profile, id)
    }

    fn value_set(&self, id: ValueSetId) -> Vec<Matches> {
        self.tables.value_set(id).members().to_vec()
    }

    fn set_value_set(&mut self, id: ValueSetId, members: Vec<Matches>) -> Result<(), TableError> {
        self.tables.set_value_set(id, members)
    }

    fn n_cells(&self, object: ObjectId) -> u64 {
        match self.externs.object(object) {
            Some(ObjectState::Counter(array)) => array.size,
            Some(ObjectState::Meter(array)) => array.size,
            Some(ObjectState::Register(array)) => array.size,
            Some(ObjectState::Other) | None => 0,
        }
    }

    fn count(&self, counter: ObjectId, index: u64) -> Result<Count, OutOfRange> {
        match self.externs.object(counter) {
            Some(ObjectState::Counter(array)) => array.get(index),
            _ => Err(no_cells(index)),
        }
    }

    fn set_count(&mut self, counter: ObjectId, index: Option<u64>, count: Count) -> Result<(), OutOfRange> {
        let array = self.externs.counters(counter).ok_or(no_cells(index.unwrap_or(0)))?;
        match index {
            Some(index) => array.set(index, count)?,
            None => array.set_all(count),
        }
        Ok(())
    }

    fn rates(&self, meter: ObjectId, index: u64) -> Result<Option<MeterRates>, OutOfRange> {
        match self.externs.object(meter) {
            Some(ObjectState::Meter(array)) => array.rates(index),
            _ => Err(no_cells(index)),
        }
    }

    fn set_rates(
        &mut self,
        meter: ObjectId,
        index: Option<u64>,
        rates: Option<MeterRates>,
        now_ns: u64,
    ) -> Result<(), OutOfRange> {
        let array = self.externs.meters(meter).ok_or(no_cells(index.unwrap_or(0)))?;
        match index {
            Some(index) => array.set_rates(index, rates, now_ns)?,
            None => array.set_all_rates(rates, now_ns),
        }
        Ok(())
    }

    fn colours(&self, meter: ObjectId, index: u64) -> Result<ColourCounts, OutOfRange> {
        match self.externs.object(meter) {
            Some(ObjectState::Meter(array)) => array.colours(index),
            _ => Err(no_cells(index)),
        }
    }

    fn set_colours(
        &mut self,
        meter: ObjectId,
        index: Option<u64>,
        colours: ColourCounts,
    ) -> Result<(), OutOfRange> {
        let array = self.externs.meters(meter).ok_or(no_cells(index.unwrap_or(0)))?;
        match index {
            Some(index) => array.set_colours(index, colours)?,
            None => array.set_all_colours(colours),
        }
        Ok(())
    }

    fn register(&self, register: ObjectId, index: u64) -> Result<Vec<Bits>, OutOfRange> {
        match self.externs.object(register) {
            Some(ObjectState::Register(array)) => array.get(index).map(<[Bits]>::to_vec),
            _ => Err(no_cells(index)),
        }
    }

    fn set_register(
        &mut self,
        register: ObjectId,
        index: Option<u64>,
        leaves: &[Bits],
    ) -> Result<(), OutOfRange> {
        let array = self.externs.register(register).ok_or(no_cells(index.unwrap_or(0)))?;
        match index {
            Some(index) => array.set(index, leaves)?,
            None => array.set_all(leaves),
        }
        Ok(())
    }
}
