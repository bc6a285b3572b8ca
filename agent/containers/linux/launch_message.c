/* See launch_message.h. */
#include "agent/containers/linux/launch_message.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory/buf.h"

#define READ_SIZE 16384

int launch_message_pack(const Mesita__ContainerLaunch *launch, struct err *err)
{
	int fd = memfd_create("launch", MFD_CLOEXEC);
	struct buf bytes = BUF_INIT;
	size_t done = 0;
	ssize_t put = 0;

	proto_pack(&launch->base, &bytes);
	while (fd >= 0 && done < bytes.len &&
	       (put = write(fd, bytes.data + done, bytes.len - done)) > 0)
		done += (size_t)put;
	if (fd < 0 || done < bytes.len || lseek(fd, 0, SEEK_SET)) {
		err_set(err, ERR_IO, "Failed to pass the launch on: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		fd = ERR_IO;
	}
	buf_free(&bytes);
	return fd;
}

Mesita__ContainerLaunch *launch_message_read(struct err *err)
{
	struct buf bytes = BUF_INIT;
	char data[READ_SIZE];
	ProtobufCMessage *message;
	ssize_t got;

	while ((got = read(LAUNCH_FD, data, sizeof(data))) > 0)
		buf_append(&bytes, data, (size_t)got);
	close(LAUNCH_FD);
	message = got < 0 ? NULL
			  : protobuf_c_message_unpack(&mesita__container_launch__descriptor, NULL,
						      bytes.len, (uint8_t *)bytes.data);
	buf_free(&bytes);
	if (!message)
		err_set(err, ERR_INVALID, "No launch came");
	return (Mesita__ContainerLaunch *)message;
}
