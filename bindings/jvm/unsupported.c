/* Natives of what mesita does not have: the replicated log, which only schedulers of their own
 * time used, and state in ZooKeeper. They say so (docs/compatibility.md). */
#include "bindings/jvm/jvm.h"

static void unsupported_refuse(JNIEnv *env, const char *what)
{
	jvm_throw(env, "java/lang/UnsupportedOperationException", what);
}

#define REPLICATED_LOG "mesita has no replicated log: use org.apache.mesos.state.LevelDBState"
#define ZOOKEEPER_STATE                                                                            \
	"mesita keeps no state in ZooKeeper yet: use org.apache.mesos.state.LevelDBState"

#define REFUSED_VOID(name, ...)                                                                    \
	NATIVE(void) Java_org_apache_mesos_##name(JNIEnv *env, jobject self, ##__VA_ARGS__)        \
	{                                                                                          \
		unsupported_refuse(env, REPLICATED_LOG);                                           \
	}
#define REFUSED(name, ...)                                                                         \
	NATIVE(jobject) Java_org_apache_mesos_##name(JNIEnv *env, jobject self, ##__VA_ARGS__)     \
	{                                                                                          \
		unsupported_refuse(env, REPLICATED_LOG);                                           \
		return NULL;                                                                       \
	}
/* The garbage collector's calls are no use of anything. */
#define FINALIZED(name)                                                                            \
	NATIVE(void) Java_org_apache_mesos_##name(JNIEnv *env, jobject self)                       \
	{                                                                                          \
	}

REFUSED_VOID(Log_initialize__ILjava_lang_String_2Ljava_util_Set_2, jint quorum, jobject path,
	     jobject pids)
REFUSED_VOID(
	Log_initialize__ILjava_lang_String_2Ljava_lang_String_2JLjava_util_concurrent_TimeUnit_2Ljava_lang_String_2,
	jint quorum, jobject path, jobject servers, jlong timeout, jobject unit, jobject znode)
REFUSED_VOID(
	Log_initialize__ILjava_lang_String_2Ljava_lang_String_2JLjava_util_concurrent_TimeUnit_2Ljava_lang_String_2Ljava_lang_String_2_3B,
	jint quorum, jobject path, jobject servers, jlong timeout, jobject unit, jobject znode,
	jobject scheme, jobject credentials)
FINALIZED(Log_finalize)

REFUSED_VOID(Log_00024Reader_initialize, jobject log)
REFUSED(Log_00024Reader_read, jobject from, jobject to, jlong timeout, jobject unit)
REFUSED(Log_00024Reader_beginning)
REFUSED(Log_00024Reader_ending)
REFUSED(Log_00024Reader_catchup, jlong timeout, jobject unit)
FINALIZED(Log_00024Reader_finalize)

REFUSED_VOID(Log_00024Writer_initialize, jobject log, jlong timeout, jobject unit, jint retries)
REFUSED(Log_00024Writer_append, jobject data, jlong timeout, jobject unit)
REFUSED(Log_00024Writer_truncate, jobject to, jlong timeout, jobject unit)
FINALIZED(Log_00024Writer_finalize)

REFUSED_VOID(state_LogState_initialize, jobject servers, jlong timeout, jobject unit, jobject znode,
	     jlong quorum, jobject path, jint diffs)
FINALIZED(state_LogState_finalize)

NATIVE(void)
Java_org_apache_mesos_state_ZooKeeperState_initialize__Ljava_lang_String_2JLjava_util_concurrent_TimeUnit_2Ljava_lang_String_2(
	JNIEnv *env, jobject self, jobject servers, jlong timeout, jobject unit, jobject znode)
{
	unsupported_refuse(env, ZOOKEEPER_STATE);
}

NATIVE(void)
Java_org_apache_mesos_state_ZooKeeperState_initialize__Ljava_lang_String_2JLjava_util_concurrent_TimeUnit_2Ljava_lang_String_2Ljava_lang_String_2_3B(
	JNIEnv *env, jobject self, jobject servers, jlong timeout, jobject unit, jobject znode,
	jobject scheme, jobject credentials)
{
	unsupported_refuse(env, ZOOKEEPER_STATE);
}
