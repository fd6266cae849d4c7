/* base: what almost every file on the host uses: C's own headers, errors, memory, integers and log lines. */
#ifndef RUNTIME_BASE_BASE_H
#define RUNTIME_BASE_BASE_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/error.h"
#include "runtime/base/integer.h"
#include "runtime/base/log.h"
#include "runtime/base/memory.h"

#endif
