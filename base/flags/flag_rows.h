/* Rows of a flag table (base/flags/flags.h), one macro a type. Define FLAG_OWNER as the name of
 * the struct that takes the values before including this. Not for headers. */
#ifndef BASE_FLAGS_FLAG_ROWS_H
#define BASE_FLAGS_FLAG_ROWS_H

#include "base/flags/flags.h"

/* clang-format off */
#define AT(member) offsetof(struct FLAG_OWNER, member)
#define FLAG_ROW(name, type, preset, help) {#name, NULL, type, AT(name), preset, help, NULL, NULL}
#define TEXT(name, preset, help) FLAG_ROW(name, FLAG_STRING, preset, help)
#define FILE_PATH(name, preset, help) FLAG_ROW(name, FLAG_PATH, preset, help)
#define BOOLEAN(name, preset, help) FLAG_ROW(name, FLAG_BOOL, preset, help)
#define INTEGER(name, preset, help) FLAG_ROW(name, FLAG_INT, preset, help)
#define NUMBER(name, preset, help) FLAG_ROW(name, FLAG_DOUBLE, preset, help)
#define TIME(name, preset, help) FLAG_ROW(name, FLAG_DURATION, preset, help)
/* Checked and shown, without effect. */
#define INERT(name, type, preset) {#name, NULL, type, FLAG_INERT, preset, NULL, NULL, NULL}
/* Accepted with a warning, whatever it holds. */
#define UNUSED(name) {#name, NULL, FLAG_IGNORED, 0, NULL, "Accepted, has no effect.", NULL, NULL}
#define UNUSED_ALIAS(name, alias) \
	{#name, #alias, FLAG_IGNORED, 0, NULL, "Accepted, has no effect.", NULL, NULL}
#define FLAG_TABLE_END {NULL, NULL, FLAG_IGNORED, 0, NULL, NULL, NULL, NULL}
/* clang-format on */

#endif
