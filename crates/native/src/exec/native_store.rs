//! The native offload worker keeps what its instance keeps: everything is passed on to the control plane's side of it.

use crate::exec::native::Native;
use control::{RecordCodes, RecordLayout, RecordParts, UpdateKind};
use ir::{Action, Bits, ObjectId, TableId, ValueSetId};
use target::store::shape::TableShapes;
use target::store::{
    ColourCounts, Count, DirectCells, Group, Matches, MeterRates, NewEntry, OutOfRange, RecordsRead,
    StoredEntry, TableUse,
};
use target::{EntryHandle, EntryRef, Store, TableError};

/// Methods that do what those of the control plane's side do.
macro_rules! pass_on {
    (
        read { $( fn $read:ident($($read_arg:ident: $read_ty:ty),*) $(-> $read_result:ty)?; )* }
        write { $( fn $write:ident($($write_arg:ident: $write_ty:ty),*) $(-> $write_result:ty)?; )* }
    ) => {
        impl Store for Native {
            $( fn $read(&self $(, $read_arg: $read_ty)*) $(-> $read_result)? {
                self.control.$read($($read_arg),*)
            } )*
            $( fn $write(&mut self $(, $write_arg: $write_ty)*) $(-> $write_result)? {
                self.control.$write($($write_arg),*)
            } )*
        }
    };
}

pass_on! {
    read {
        fn table_uses() -> Vec<TableUse>;
        fn table_shapes() -> &TableShapes;
        fn at_once(work: &mut dyn FnMut());
        fn find(table: TableId, matches: &Matches, priority: i32) -> Option<EntryHandle>;
        fn entry(table: TableId, handle: EntryHandle) -> Option<StoredEntry>;
        fn visit_entries_after(
            table: TableId,
            after: Option<EntryHandle>,
            n_max: usize,
            visit: &mut dyn FnMut(StoredEntry)
        );
        fn record_layout(table: TableId, parts: RecordParts) -> Option<RecordLayout>;
        fn read_records(
            table: TableId,
            layout: &RecordLayout,
            after: Option<EntryHandle>,
            n_max: usize,
            read: &mut RecordsRead
        ) -> Option<EntryHandle>;
        fn default_action(table: TableId) -> Option<Action>;
        fn profile_timeout(table: TableId, profile: u8) -> Option<u64>;
        fn n_flow_ids() -> u64;
        fn direct(table: TableId, entry: EntryRef) -> Option<DirectCells>;
        fn visit_members(profile: ObjectId, visit: &mut dyn FnMut(u32, Action));
        fn visit_groups(profile: ObjectId, visit: &mut dyn FnMut(u32, Group));
        fn value_set(id: ValueSetId) -> Vec<Matches>;
        fn n_cells(object: ObjectId) -> u64;
        fn count(counter: ObjectId, index: u64) -> Result<Count, OutOfRange>;
        fn rates(meter: ObjectId, index: u64) -> Result<Option<MeterRates>, OutOfRange>;
        fn colours(meter: ObjectId, index: u64) -> Result<ColourCounts, OutOfRange>;
        fn register(register: ObjectId, index: u64) -> Result<Vec<Bits>, OutOfRange>;
    }
    write {
        fn raise_flow_ids(at_least: u64);
        fn change_at_once(work: &mut dyn FnMut(&mut dyn Store));
        fn reserve(table: TableId, n_more: u64);
        fn insert(table: TableId, entry: NewEntry, now_ns: u64) -> Result<EntryHandle, TableError>;
        fn insert_many(
            table: TableId,
            entries: Vec<NewEntry>,
            now_ns: u64
        ) -> Vec<Result<EntryHandle, TableError>>;
        fn modify(table: TableId, entry: NewEntry, now_ns: u64) -> Result<EntryHandle, TableError>;
        fn delete(table: TableId, matches: &Matches, priority: i32) -> Result<EntryHandle, TableError>;
        fn write_records(
            table: TableId,
            layout: &RecordLayout,
            kind: UpdateKind,
            records: &[u8],
            now_ns: u64,
            handles: Option<&mut Vec<EntryHandle>>
        ) -> RecordCodes;
        fn set_default_action(table: TableId, action: Option<Action>) -> Result<(), TableError>;
        fn set_direct_count(table: TableId, entry: EntryRef, count: Count) -> Result<(), TableError>;
        fn set_direct_rates(
            table: TableId,
            entry: EntryRef,
            rates: Option<MeterRates>,
            now_ns: u64
        ) -> Result<(), TableError>;
        fn set_direct_colours(
            table: TableId,
            entry: EntryRef,
            colours: ColourCounts
        ) -> Result<(), TableError>;
        fn remove_ended(now_ns: u64);
        fn set_profile(table: TableId, profile: u8, timeout_ns: u64) -> bool;
        fn take_expired(now_ns: u64) -> Vec<(TableId, EntryHandle)>;
        fn insert_member(profile: ObjectId, id: u32, action: Action) -> Result<(), TableError>;
        fn modify_member(profile: ObjectId, id: u32, action: Action) -> Result<(), TableError>;
        fn delete_member(profile: ObjectId, id: u32) -> Result<(), TableError>;
        fn insert_group(profile: ObjectId, id: u32, group: Group) -> Result<(), TableError>;
        fn modify_group(profile: ObjectId, id: u32, group: Group) -> Result<(), TableError>;
        fn delete_group(profile: ObjectId, id: u32) -> Result<(), TableError>;
        fn set_value_set(id: ValueSetId, members: Vec<Matches>) -> Result<(), TableError>;
        fn set_count(counter: ObjectId, index: Option<u64>, count: Count) -> Result<(), OutOfRange>;
        fn set_rates(
            meter: ObjectId,
            index: Option<u64>,
            rates: Option<MeterRates>,
            now_ns: u64
        ) -> Result<(), OutOfRange>;
        fn set_colours(
            meter: ObjectId,
            index: Option<u64>,
            colours: ColourCounts
        ) -> Result<(), OutOfRange>;
        fn set_register(
            register: ObjectId,
            index: Option<u64>,
            leaves: &[Bits]
        ) -> Result<(), OutOfRange>;
    }
}
