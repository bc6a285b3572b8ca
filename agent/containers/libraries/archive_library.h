/* libarchive, loaded when it is first needed: it and what it needs would make every start of our
 * binary slower, and it is started for each task. */
#ifndef AGENT_CONTAINERS_LIBRARIES_ARCHIVE_LIBRARY_H
#define AGENT_CONTAINERS_LIBRARIES_ARCHIVE_LIBRARY_H

#include <archive.h>
#include <archive_entry.h>

#include "base/err.h"

#define ARCHIVE_FUNCTIONS(each)                                                                                     \
	each(archive_entry_filetype) each(archive_entry_hardlink) each(archive_entry_pathname) each(                \
		archive_entry_set_filetype) each(archive_entry_set_hardlink) each(archive_entry_set_pathname)       \
		each(archive_entry_set_perm) each(archive_entry_set_rdevmajor) each(                                \
			archive_entry_set_rdevminor) each(archive_entry_set_size) each(archive_entry_size)          \
			each(archive_entry_xattr_add_entry) each(archive_entry_xattr_clear) each(                   \
				archive_entry_xattr_next) each(archive_entry_xattr_reset)                           \
				each(archive_entry_clone) each(archive_entry_free) each(                            \
					archive_error_string) each(archive_read_data_block)                         \
					each(archive_read_free) each(archive_read_new) each(                        \
						archive_read_next_header) each(archive_read_open_fd)                \
						each(archive_read_support_filter_all) each(                         \
							archive_read_support_format_all)                            \
							each(archive_read_support_format_tar) each(                 \
								archive_write_close) each(archive_write_data_block) \
								each(archive_write_disk_new) each(                  \
									archive_write_disk_set_options)             \
									each(archive_write_finish_entry) each(      \
										archive_write_free)                 \
										each(archive_write_header)

#define ARCHIVE_FUNCTION_(name) __typeof__(name) *name;
struct archive_library {
	ARCHIVE_FUNCTIONS(ARCHIVE_FUNCTION_)
};
#undef ARCHIVE_FUNCTION_

/* NULL: it is not installed, or another version of it. Not thread safe. */
const struct archive_library *archive_library(struct err *err);

#endif
