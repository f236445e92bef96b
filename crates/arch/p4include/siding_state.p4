// SPDX-License-Identifier: Apache-2.0
//
// Tables that packets write, for architectures that do not declare them: the
// functions of PNA, with the same meaning. PNA programs include `pna.p4` and
// have them already; this file, included behind it, gives them `DirectRegister`
// alone.
//
// A table adds entries if it has the property
//
//     add_on_miss = true;
//
// and exact keys only. Its default action calls `add_entry`. The packet after
// the one that has missed hits the new entry.
//
// With the property
//
//     idle_timeout_with_auto_delete = true;
//
// an entry ends when it was not hit for the time of its profile. There are 256
// profiles for each table. Their times are 10, 30, 60, 120, 300, 43200, 120 and
// 120 seconds, then 120 for all others, until the control plane changes them.

#ifndef _SIDING_STATE_P4_
#define _SIDING_STATE_P4_

#ifndef __PNA_P4__

/// The number of a profile: a time after which entries end.
typedef bit<8> ExpireTimeProfileId_t;

/// Adds an entry with the key just looked up, the action `action_name` and the
/// arguments `action_params`: a struct with the fields of the action, a list, or
/// one value. Returns true if the entry was added, false if there is one already
/// or the table is full.
extern bool add_entry<T>(string action_name, in T action_params,
                         in ExpireTimeProfileId_t expire_time_profile_id);

/// The same with the profile that the table names in its property
/// `default_idle_timeout_for_data_plane_added_entries`, or profile 0.
extern bool add_entry<T>(string action_name, in T action_params);

/// Adds an entry if `do_add_entry` is true.
extern bool add_entry_if<T>(in bool do_add_entry, string action_name, in T action_params,
                            in ExpireTimeProfileId_t expire_time_profile_id);

// In actions of entries. A table whose actions call none of these restarts the
// time of an entry at each hit; in others only these functions do.

/// Restarts the time of the entry that was hit.
extern void restart_expire_timer();

/// Gives the entry that was hit another profile, and restarts its time.
extern void set_entry_expire_time(in ExpireTimeProfileId_t expire_time_profile_id);

/// The same if `condition` is true.
extern void set_entry_expire_time_if(in bool condition, in ExpireTimeProfileId_t expire_time_profile_id);

/// Restarts the time of the entry if `update_aging_info` is true, with another
/// profile if `update_expire_time` is true, too.
extern void update_expire_info(in bool update_aging_info, in bool update_expire_time,
                               in ExpireTimeProfileId_t expire_time_profile_id);

/// Returns a number that was not returned before, from 1 on; 0 if none is left.
extern bit<32> allocate_flow_id();

#endif

/// A register with a cell for each entry of a table, and for its default entry.
/// The table names it in its property `registers`:
///
///     registers = r;
///     registers = { r1, r2 };
///
/// Values have a fixed width, and those of a table 64 bytes together. A cell
/// begins with `initial_value`, or zero, when its entry is added or the default
/// action is set; no controller gives it.
extern DirectRegister<T> {
    DirectRegister();
    DirectRegister(T initial_value);

    /// Returns the value of the entry whose action runs.
    T read();

    /// Changes it. The action sees the change at once, others when it is over.
    void write(in T value);
}

#endif
