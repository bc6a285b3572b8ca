/* Where v0 and v1 JSON spell things differently: v0 says slave for agent, in some places.
 *
 * The schema is in v1 names; these tables are all that v0 has otherwise.
 */
#include "proto/json/spelling.h"

#include <string.h>

struct rename {
	const char *v1;
	const char *v0;
};

static const struct rename field_names[] = {
	{"agent_id", "slave_id"},
	{"agent_info", "slave_info"},
	{"agent", "slave"},
	{"agents", "slaves"},
};

/* Messages that say agent in v0 too. */
static const char *const agent_in_v0[] = {
	"mesos.master.Event",
	"mesos.master.Response.GetAgents",
};

static const struct rename enum_names[] = {
	{"REASON_AGENT_DISCONNECTED", "REASON_SLAVE_DISCONNECTED"},
	{"REASON_AGENT_DRAINING", "REASON_SLAVE_DRAINING"},
	{"REASON_AGENT_REMOVED", "REASON_SLAVE_REMOVED"},
	{"REASON_AGENT_REMOVED_BY_OPERATOR", "REASON_SLAVE_REMOVED_BY_OPERATOR"},
	{"REASON_AGENT_REREGISTERED", "REASON_SLAVE_REREGISTERED"},
	{"REASON_AGENT_RESTARTED", "REASON_SLAVE_RESTARTED"},
	{"REASON_AGENT_UNKNOWN", "REASON_SLAVE_UNKNOWN"},
	{"SOURCE_AGENT", "SOURCE_SLAVE"},
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const char *to_v0(const struct rename *table, size_t count, const char *v1)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(table[i].v1, v1))
			return table[i].v0;
	return v1;
}

/* NULL for names that only v1 has. */
static const char *to_v1(const struct rename *table, size_t count, const char *v0)
{
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(table[i].v0, v0))
			return table[i].v1;
		if (!strcmp(table[i].v1, v0))
			return NULL;
	}
	return v0;
}

static bool says_agent(const ProtobufCMessageDescriptor *type)
{
	for (size_t i = 0; i < COUNT(agent_in_v0); i++)
		if (str_has_prefix(type->name, agent_in_v0[i]))
			return true;
	return false;
}

const char *field_name(const ProtobufCMessageDescriptor *type,
		       const ProtobufCFieldDescriptor *field, enum proto_spelling spelling)
{
	if (spelling != SPELL_V0 || field->name[0] != 'a' || says_agent(type))
		return field->name;
	return to_v0(field_names, COUNT(field_names), field->name);
}

const ProtobufCFieldDescriptor *field_by_name(const ProtobufCMessageDescriptor *type,
					      const char *name, enum proto_spelling spelling)
{
	const ProtobufCFieldDescriptor *field;

	if (spelling == SPELL_V0 && !says_agent(type))
		name = to_v1(field_names, COUNT(field_names), name);
	if (!name || !type->n_fields)
		return NULL;
	field = protobuf_c_message_descriptor_get_field_by_name(type, name);
	return field && !field_hidden(type, field, spelling) ? field : NULL;
}

bool field_hidden(const ProtobufCMessageDescriptor *type, const ProtobufCFieldDescriptor *field,
		  enum proto_spelling spelling)
{
	return spelling == SPELL_V1 && type == &mesos__agent_info__descriptor &&
	       !strcmp(field->name, "checkpoint");
}

const char *proto_enum_name(const ProtobufCEnumDescriptor *type, int value,
			    enum proto_spelling spelling)
{
	const ProtobufCEnumValue *found = protobuf_c_enum_descriptor_get_value(type, value);

	if (!found)
		return "";
	/* The names that differ are those of reasons and sources. */
	if (spelling != SPELL_V0 || (found->name[0] != 'R' && found->name[0] != 'S'))
		return found->name;
	return to_v0(enum_names, COUNT(enum_names), found->name);
}

const ProtobufCEnumValue *enum_by_name(const ProtobufCEnumDescriptor *type, const char *name,
				       enum proto_spelling spelling)
{
	if (spelling == SPELL_V0)
		name = to_v1(enum_names, COUNT(enum_names), name);
	return name ? protobuf_c_enum_descriptor_get_value_by_name(type, name) : NULL;
}
