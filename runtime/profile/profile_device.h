/* profile_device: how a device that works on its own tells the profile the time, and how it shows regions to
 * its maker's tools. The profile knows no device; device.c attaches this table when one is opened.
 *
 * stamp and seconds return 0, or another number when they failed: the recording then ends with a warning.
 * They raise no error, since a region may close while one is on its way up. */
#ifndef RUNTIME_PROFILE_PROFILE_DEVICE_H
#define RUNTIME_PROFILE_PROFILE_DEVICE_H

struct profile_device {
  void *context;
  /* Queues a time stamp on a stream (0: compute) and returns; *stamp is given back by release. */
  int (*stamp)(void *context, int stream, void **stamp);
  /* *seconds from one stamp to another, of any streams. *ready = 0: the device has not come to both. */
  int (*seconds)(void *context, void *from, void *to, double *seconds, int *ready);
  void (*release)(void *context, void *stamp);
  void (*close)(void *context);
  /* Opens and closes a named range of the host's thread in the tools, recording or not. NULL: none. */
  void (*push)(const char *name);
  void (*pop)(void);
};

/* The table is copied. One device at a time: a second one is left to the host's clock. */
void profile_attach(const struct profile_device *device);
/* What the device has come to is kept; `context` is closed. Does nothing for another context. */
void profile_detach(const void *context);

/* Reads the stamps that the device has come to; the others wait for the next time. */
void profile_resolve(void);

#endif
