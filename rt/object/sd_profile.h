/*
 * Action profiles and selectors: actions that entries share.
 *
 * Owns: members, groups, one-shots, and the choice of a member by a number.
 *
 * Entries and groups point at members and groups, which have fixed addresses; a member is modified in place, so that
 * everything that points at it changes at once. `n_uses` counts the pointers.
 *
 * A choice is made by a number modulo the sum of the weights of the choices whose port is up. The number is a hash of the
 * packet, or a random one. The sums (`until`) are updated when ports go down or come up.
 */
#ifndef SD_PROFILE_H
#define SD_PROFILE_H

#include "object/sd_object.h"

#define SD_DATA_ALIGN 16u

struct sd_choices {
    uint32_t n;
    uint32_t is_watching;
    uint64_t total;
    struct sd_weighted *weighted;
    /* Sums of the weights: until[i] is that of the choices 0 to i. */
    uint64_t *until;
};

/* The first member of a struct that sd_by_id finds. */
struct sd_named {
    uint32_t id;
};

/* Sorted by id. */
struct sd_by_id {
    struct sd_named **items;
    uint64_t n;
    uint64_t capacity;
};

struct sd_member {
    struct sd_named name;
    uint32_t action;
    uint64_t n_uses;
    uint8_t data[] __attribute__((aligned(SD_DATA_ALIGN)));
};

struct sd_group {
    struct sd_named name;
    uint32_t max_size;
    uint64_t n_uses;
    struct sd_choices choices;
    /* The member of each choice. */
    struct sd_member **members;
};

/* Choices and all data lie in the same block of memory. */
struct sd_one_shot {
    struct sd_choices choices;
    bool is_random;
    bool has_group_action;
    /* The action that runs before the chosen one. */
    struct sd_weighted group_action;
};

struct sd_profile {
    const struct sd_object_type *type;
    /* Those of the tables that use the profile, which have the same actions; 0: no table uses it. */
    uint32_t n_actions;
    const struct sd_action_type *actions;
    /* Room for the action data of a member. */
    uint32_t data_bytes;
    struct sd_by_id members;
    struct sd_by_id groups;
};

/* --- Choices --- */

SD_INLINE bool sd_ports_have(const struct sd_ports *ports, uint32_t port)
{
    uint32_t low = 0, high = ports->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ports->ports[middle] < port)
            low = middle + 1;
        else
            high = middle;
    }
    return low < ports->n && ports->ports[low] == port;
}

SD_LOCAL void sd_choices_update(struct sd_choices *choices, const struct sd_ports *ports_down)
{
    choices->total = 0;
    choices->is_watching = 0;
    for (uint32_t i = 0; i < choices->n; i++) {
        const struct sd_weighted *w = &choices->weighted[i];
        bool is_watching = w->watch_port != UINT32_MAX;
        choices->is_watching |= is_watching;
        if (!is_watching || !sd_ports_have(ports_down, w->watch_port))
            choices->total += w->weight ? w->weight : 1;
        choices->until[i] = choices->total;
    }
}

/* The position of the choice; UINT32_MAX: all are down. */
SD_INLINE uint32_t sd_choose(const struct sd_choices *choices, uint64_t number)
{
    if (choices->total == 0)
        return UINT32_MAX;
    uint64_t at = number % choices->total;
    uint32_t low = 0, high = choices->n - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (choices->until[middle] <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* --- By id --- */

/* The position of the id, or the one to insert it at. */
SD_INLINE uint64_t sd_by_id_position(const struct sd_by_id *by_id, uint32_t id)
{
    uint64_t low = 0, high = by_id->n;
    /* Fast path: ids are inserted in ascending order mostly. */
    if (high > 0 && by_id->items[high - 1]->id < id)
        return high;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (by_id->items[middle]->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

SD_INLINE void *sd_by_id_get(const struct sd_by_id *by_id, uint32_t id)
{
    uint64_t at = sd_by_id_position(by_id, id);
    return at < by_id->n && by_id->items[at]->id == id ? by_id->items[at] : NULL;
}

/* Owns the item if it returns true; false when memory is short. */
SD_LOCAL bool sd_by_id_add(struct sd_by_id *by_id, struct sd_named *item)
{
    void *items = sd_reserve(by_id->items, &by_id->capacity, by_id->n + 1, sizeof *by_id->items);
    if (!items)
        return false;
    by_id->items = items;
    uint64_t at = sd_by_id_position(by_id, item->id);
    memmove(by_id->items + at + 1, by_id->items + at, (by_id->n - at) * sizeof *by_id->items);
    by_id->items[at] = item;
    by_id->n++;
    return true;
}

SD_LOCAL void sd_by_id_remove(struct sd_by_id *by_id, uint32_t id)
{
    uint64_t at = sd_by_id_position(by_id, id);
    by_id->n--;
    memmove(by_id->items + at, by_id->items + at + 1, (by_id->n - at) * sizeof *by_id->items);
}

/* The smallest id that is at least `*id`. */
SD_LOCAL uint32_t sd_by_id_next(const struct sd_by_id *by_id, uint32_t *id)
{
    uint64_t at = sd_by_id_position(by_id, *id);
    if (at >= by_id->n)
        return SD_NOT_FOUND;
    *id = by_id->items[at]->id;
    return SD_OK;
}

/* --- One-shots --- */

/* A copy of a choice, whose data are at `data`. */
SD_LOCAL struct sd_weighted sd_weighted_copy(const struct sd_weighted *w, const struct sd_action_type *actions,
                                             uint8_t *data)
{
    uint32_t n_data = actions[w->member_or_action].data_bytes;
    if (n_data)
        memcpy(data, w->data, n_data);
    struct sd_weighted copy = *w;
    copy.data = data;
    return copy;
}

/* NULL when memory is short. All actions of the view are below the number in `actions`. */
SD_LOCAL struct sd_one_shot *sd_one_shot_new(const struct sd_entry_view *view, const struct sd_action_type *actions,
                                             uint32_t data_bytes, const struct sd_ports *ports_down)
{
    uint32_t n = view->n_weighted;
    size_t each_data = sd_round_up(data_bytes, SD_DATA_ALIGN);
    size_t weighted_at = sd_round_up(sizeof(struct sd_one_shot), SD_DATA_ALIGN);
    size_t until_at, data_at, bytes;
    until_at = weighted_at + (size_t)n * sizeof(struct sd_weighted);
    data_at = sd_round_up(until_at + (size_t)n * sizeof(uint64_t), SD_DATA_ALIGN);
    if (__builtin_mul_overflow((size_t)n + 1, each_data, &bytes) || __builtin_add_overflow(bytes, data_at, &bytes))
        return NULL;
    uint8_t *memory = calloc(1, bytes);
    if (!memory)
        return NULL;
    struct sd_one_shot *one_shot = (struct sd_one_shot *)(void *)memory;
    struct sd_weighted *copies = (struct sd_weighted *)(void *)(memory + weighted_at);
    for (uint32_t i = 0; i < n; i++)
        copies[i] = sd_weighted_copy(&view->weighted[i], actions, memory + data_at + i * each_data);
    one_shot->is_random = view->is_random != 0;
    one_shot->has_group_action = view->group_action != NULL;
    if (view->group_action)
        one_shot->group_action = sd_weighted_copy(view->group_action, actions, memory + data_at + n * each_data);
    one_shot->choices.n = n;
    one_shot->choices.weighted = copies;
    one_shot->choices.until = (uint64_t *)(void *)(memory + until_at);
    sd_choices_update(&one_shot->choices, ports_down);
    return one_shot;
}

/* --- Profiles --- */

SD_LOCAL struct sd_profile *sd_profile_of(struct sd_instance *instance, uint32_t object)
{
    struct sd_object *o = sd_object_of(instance, object, SD_OBJECT_ACTION_PROFILE);
    if (!o)
        o = sd_object_of(instance, object, SD_OBJECT_ACTION_SELECTOR);
    return o ? o->profile : NULL;
}

SD_LOCAL bool sd_profile_init(struct sd_object *o)
{
    o->profile = calloc(1, sizeof *o->profile);
    if (!o->profile)
        return false;
    o->profile->type = o->type;
    o->profile->data_bytes = o->type->data_bytes;
    return true;
}

/* Takes over the actions of a table that uses the profile. */
SD_LOCAL void sd_profile_set_actions(struct sd_profile *profile, const struct sd_table_type *table)
{
    profile->n_actions = table->n_actions;
    profile->actions = table->actions;
    for (uint32_t i = 0; i < table->n_actions; i++)
        if (table->actions[i].data_bytes > profile->data_bytes)
            profile->data_bytes = table->actions[i].data_bytes;
}

SD_LOCAL void sd_group_free(struct sd_group *group)
{
    free(group->choices.weighted);
    free(group->choices.until);
    free(group->members);
    free(group);
}

SD_LOCAL void sd_profile_free(struct sd_profile *profile)
{
    if (!profile)
        return;
    for (uint64_t i = 0; i < profile->members.n; i++)
        free(profile->members.items[i]);
    for (uint64_t i = 0; i < profile->groups.n; i++)
        sd_group_free((struct sd_group *)(void *)profile->groups.items[i]);
    free(profile->members.items);
    free(profile->groups.items);
    free(profile);
}

SD_LOCAL void sd_profile_update_ports(struct sd_profile *profile, const struct sd_ports *ports_down)
{
    for (uint64_t i = 0; i < profile->groups.n; i++) {
        struct sd_group *group = (struct sd_group *)(void *)profile->groups.items[i];
        if (group->choices.is_watching)
            sd_choices_update(&group->choices, ports_down);
    }
}

/* `data` and `to` may overlap: callers pass back data that they have read. */
SD_LOCAL void sd_data_assign(uint8_t *to, uint32_t room_bytes, const uint8_t *data, uint32_t n_bytes)
{
    if (data && n_bytes)
        memmove(to, data, n_bytes);
    memset(to + n_bytes, 0, room_bytes - n_bytes);
}

/* --- For the control plane --- */

SD_LOCAL void sd_member_assign(const struct sd_profile *profile, struct sd_member *member,
                                       uint32_t action, const uint8_t *data)
{
    uint32_t n_data = profile->actions[action].data_bytes;
    member->action = action;
    sd_data_assign(member->data, profile->data_bytes, data, n_data);
}

SD_LOCAL uint32_t sd_member_insert(struct sd_instance *instance, uint32_t object, uint32_t id,
                                           uint32_t action, const uint8_t *data)
{
    struct sd_profile *profile = sd_profile_of(instance, object);
    if (!profile || profile->n_actions == 0)
        return SD_NOT_FOUND;
    if (action >= profile->n_actions)
        return SD_OUT_OF_RANGE;
    if (sd_by_id_get(&profile->members, id))
        return SD_EXISTS;
    if (profile->type->size > 0 && profile->members.n >= profile->type->size)
        return SD_FULL;
    struct sd_member *member = calloc(1, sizeof *member + profile->data_bytes);
    if (!member)
        return SD_NO_MEMORY;
    member->name.id = id;
    sd_member_assign(profile, member, action, data);
    if (!sd_by_id_add(&profile->members, &member->name)) {
        free(member);
        return SD_NO_MEMORY;
    }
    return SD_OK;
}

SD_LOCAL uint32_t sd_member_modify(struct sd_instance *instance, uint32_t object, uint32_t id,
                                           uint32_t action, const uint8_t *data)
{
    struct sd_profile *profile = sd_profile_of(instance, object);
    struct sd_member *member = profile ? sd_by_id_get(&profile->members, id) : NULL;
    if (!member)
        return SD_NOT_FOUND;
    if (action >= profile->n_actions)
        return SD_OUT_OF_RANGE;
    sd_member_assign(profile, member, action, data);
    return SD_OK;
}

SD_LOCAL uint32_t sd_member_remove(struct sd_instance *instance, uint32_t object, uint32_t id)
{
    struct sd_profile *profile = sd_profile_of(instance, object);
    struct sd_member *member = profile ? sd_by_id_get(&profile->members, id) : NULL;
    if (!member)
        return SD_NOT_FOUND;
    if (member->n_uses > 0)
        return SD_IN_USE;
    sd_by_id_remove(&profile->members, id);
    free(member);
    return SD_OK;
}

SD_LOCAL uint32_t sd_member_get(struct sd_instance *instance, uint32_t object, uint32_t id,
                                        uint32_t *action, const uint8_t **data)
{
    struct sd_profile *profile = sd_profile_of(instance, object);
    const struct sd_member *member = profile ? sd_by_id_get(&profile->members, id) : NULL;
    if (!member)
        return SD_NOT_FOUND;
    *action = member->action;
    *data = member->data;
    return SD_OK;
}

SD_LOCAL uint32_t sd_member_next(struct sd_instance *instance, uint32_t object, uint32_t *id)
{
    struct sd_profile *profile = sd_profile_of(instance, object);
    return profile ? sd_by_id_next(&profile->members, id) : SD_NOT_FOUND;
}

/* Fills a new group with copies of the choices and with the members that they name. */
SD_LOCAL uint32_t sd_group_fill(struct sd_instance *instance, struct sd_profile *profile,
                                        struct sd_group *group, const struct sd_weighted *weighted, uint32_t n)
{
    group->choices.n = n;
    group->choices.weighted = calloc(n ? n : 1, sizeof *group->choices.weighted);
    group->choices.until = calloc(n ? n : 1, sizeof *group->choices.until);
    group->members = calloc(n ? n : 1, sizeof *group->members);
    if (!group->choices.weighted || !group->choices.until || !group->members)
        return SD_NO_MEMORY;
    for (uint32_t i = 0; i < n; i++) {
        group->members[i] = sd_by_id_get(&profile->members, weighted[i].member_or_action);
        if (!group->members[i])
            return SD_NOT_FOUND;
        group->choices.weighted[i] = weighted[i];
        group->choices.weighted[i].data = NULL;
    }
    sd_choices_update(&group->choices, &instance->ports_down);
    return SD_OK;
}

/* Inserts the group, or replaces its choices. */
SD_LOCAL uint32_t sd_group_set(struct sd_instance *instance, uint32_t object, uint32_t id,
                                       uint32_t max_size, const struct sd_weighted *weighted,
                                       uint32_t n_weighted)
{
    struct sd_profile *profile = sd_profile_of(instance, object);
    if (!profile)
        return SD_NOT_FOUND;
    if (profile->type->kind != SD_OBJECT_ACTION_SELECTOR)
        return SD_OUT_OF_RANGE;
    struct sd_group *filled = calloc(1, sizeof *filled);
    if (!filled)
        return SD_NO_MEMORY;
    filled->name.id = id;
    filled->max_size = max_size;
    uint32_t status = sd_group_fill(instance, profile, filled, weighted, n_weighted);
    struct sd_group *group = sd_by_id_get(&profile->groups, id);
    if (status == SD_OK && !group && !sd_by_id_add(&profile->groups, &filled->name))
        status = SD_NO_MEMORY;
    if (status != SD_OK) {
        sd_group_free(filled);
        return status;
    }
    for (uint32_t i = 0; i < n_weighted; i++)
        filled->members[i]->n_uses++;
    if (!group)
        return SD_OK;
    /* Entries point at the group, so it stays where it is and exchanges its contents. */
    struct sd_group old = *group;
    *group = *filled;
    group->n_uses = old.n_uses;
    for (uint32_t i = 0; i < old.choices.n; i++)
        old.members[i]->n_uses--;
    *filled = old;
    sd_group_free(filled);
    return SD_OK;
}

SD_LOCAL uint32_t sd_group_remove(struct sd_instance *instance, uint32_t object, uint32_t id)
{
    struct sd_profile *profile = sd_profile_of(instance, object);
    struct sd_group *group = profile ? sd_by_id_get(&profile->groups, id) : NULL;
    if (!group)
        return SD_NOT_FOUND;
    if (group->n_uses > 0)
        return SD_IN_USE;
    for (uint32_t i = 0; i < group->choices.n; i++)
        group->members[i]->n_uses--;
    sd_by_id_remove(&profile->groups, id);
    sd_group_free(group);
    return SD_OK;
}

SD_LOCAL uint32_t sd_group_get(struct sd_instance *instance, uint32_t object, uint32_t id,
                                       uint32_t *max_size, const struct sd_weighted **weighted,
                                       uint32_t *n_weighted)
{
    struct sd_profile *profile = sd_profile_of(instance, object);
    const struct sd_group *group = profile ? sd_by_id_get(&profile->groups, id) : NULL;
    if (!group)
        return SD_NOT_FOUND;
    *max_size = group->max_size;
    *weighted = group->choices.weighted;
    *n_weighted = group->choices.n;
    return SD_OK;
}

SD_LOCAL uint32_t sd_group_next(struct sd_instance *instance, uint32_t object, uint32_t *id)
{
    struct sd_profile *profile = sd_profile_of(instance, object);
    return profile ? sd_by_id_next(&profile->groups, id) : SD_NOT_FOUND;
}

#endif
