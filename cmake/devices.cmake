# Which devices are compiled in; GNNTRAIN_CUDA says what is wanted beside the CPU.
if(GNNTRAIN_CUDA STREQUAL "ON")
  message(FATAL_ERROR "GNNTRAIN_CUDA=ON, but the CUDA device is not part of this version; allowed: AUTO, OFF")
elseif(NOT GNNTRAIN_CUDA MATCHES "^(AUTO|OFF)$")
  message(FATAL_ERROR "GNNTRAIN_CUDA=${GNNTRAIN_CUDA}; allowed: AUTO, ON, OFF")
endif()
