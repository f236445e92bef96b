//! Checks of a whole [`Schema`].

use smol_str::SmolStr;

use super::build::SchemaError;
use super::*;

type Result<T> = std::result::Result<T, SchemaError>;

impl Schema {
    /// Checks that the top byte of each id is that of its kind (P4Runtime, "ID Allocation for P4Info Objects"). A P4Info that a
    /// controller sends must be so; tests may have others.
    pub fn check_ids(&self) -> Result<()> {
        check_prefixes(&self.tables)?;
        check_prefixes(&self.actions)?;
        check_prefixes(&self.profiles)?;
        check_prefixes(&self.counters)?;
        check_prefixes(&self.direct_counters)?;
        check_prefixes(&self.meters)?;
        check_prefixes(&self.direct_meters)?;
        check_prefixes(&self.registers)?;
        check_prefixes(&self.digests)?;
        check_prefixes(&self.value_sets)?;
        check_prefixes(&self.controller_headers)?;
        for instance in &self.externs {
            let name = &instance.names.name;
            let prefix = match u8::try_from(instance.extern_type.0) {
                Ok(prefix @ 0x81..=0xfe) => prefix,
                Ok(_) | Err(_) => {
                    return Err(SchemaError::ExternType { name: name.clone(), id: instance.extern_type.0 });
                }
            };
            check_prefix(ObjectKind::Extern, name, instance.id.0, prefix)?;
        }
        Ok(())
    }

    /// Checks that ids refer to something.
    pub(super) fn check_references(&self) -> Result<()> {
        for table in &self.tables {
            let owner = &table.names.name;
            for action in &table.actions {
                resolve(&self.actions, owner, action.id)?;
            }
            if let Some(action) = table.const_default_action {
                resolve(&self.actions, owner, action)?;
            }
            if let Some(profile) = table.implementation {
                resolve(&self.profiles, owner, profile)?;
            }
        }
        for profile in &self.profiles {
            for table in &profile.tables {
                resolve(&self.tables, &profile.names.name, *table)?;
            }
        }
        for counter in &self.direct_counters {
            resolve(&self.tables, &counter.names.name, counter.table)?;
        }
        for meter in &self.direct_meters {
            resolve(&self.tables, &meter.names.name, meter.table)?;
        }
        Ok(())
    }
}

fn resolve<T: Object>(objects: &Objects<T>, owner: &SmolStr, id: T::Id) -> Result<()> {
    match objects.get(id) {
        Some(_) => Ok(()),
        None => Err(SchemaError::Dangling { owner: owner.clone(), kind: T::KIND, id: T::raw(id) }),
    }
}

fn check_prefixes<T: Object>(objects: &Objects<T>) -> Result<()> {
    let Some(prefix) = T::KIND.id_prefix() else { return Ok(()) };
    objects.iter().try_for_each(|of| check_prefix(T::KIND, &of.names().name, T::raw(of.id()), prefix))
}

fn check_prefix(kind: ObjectKind, name: &SmolStr, id: u32, prefix: u8) -> Result<()> {
    if id >> 24 == u32::from(prefix) {
        return Ok(());
    }
    Err(SchemaError::Prefix { kind, name: name.clone(), id, prefix })
}
