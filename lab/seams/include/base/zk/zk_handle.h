/* libzookeeper in the simulated world: its calls that wait (lab/seams/zk_link.c), by names of their
 * own. */
#ifndef LAB_SEAMS_INCLUDE_BASE_ZK_ZK_HANDLE_H
#define LAB_SEAMS_INCLUDE_BASE_ZK_ZK_HANDLE_H

#include_next "base/zk/zk_handle.h"

#define zoo_create sim_zoo_create
#define zoo_get sim_zoo_get
#define zoo_set2 sim_zoo_set2
#define zoo_multi sim_zoo_multi

int zoo_create(zhandle_t *handle, const char *path, const char *value, int len,
	       const struct ACL_vector *acl, int flags, char *made, int made_len);
int zoo_get(zhandle_t *handle, const char *path, int watch, char *value, int *len,
	    struct Stat *stat);
int zoo_set2(zhandle_t *handle, const char *path, const char *value, int len, int version,
	     struct Stat *stat);
int zoo_multi(zhandle_t *handle, int count, const zoo_op_t *ops, zoo_op_result_t *results);

#endif
