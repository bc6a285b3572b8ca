/* Looking over leveldb's logs before leveldb reads them: it skips what does not fit its checksum
 * without a word, and acknowledged state would be gone.
 *
 * The format is leveldb's own (its doc/log_format.md): blocks of 32 KiB with records of a
 * header, 4 bytes of checksum, 2 of length and 1 of type, and data. A record too large for the
 * rest of a block is cut into a first, middle and last part. */
#ifndef STORE_LEVELDB_LOG_H
#define STORE_LEVELDB_LOG_H

#include <stdbool.h>

#include "base/err.h"

/* Looks over every log in the directory.
 *
 * What a power cut leaves is cut off, so that nothing behind it is read either: a record that
 * the end of the file cuts short, or one with a sector of zeros that was never written. It was
 * not acknowledged as durable. Anything else that does not fit is damage: ERR_CORRUPT, and the
 * text says which file, where, and how to go on. With `repair` the damaged file is kept beside as
 * <name>.damaged, and the log ends before the damage.
 *
 * ERR_CORRUPT, too, for a directory with files of a database and none that says which: leveldb
 * would begin an empty one. */
int leveldb_logs_check(const char *directory, bool repair, struct err *err);

#endif
