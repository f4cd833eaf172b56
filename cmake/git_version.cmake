# SPDX-License-Identifier: Apache-2.0
# Run at each build: what the sources are, as git describes them, into OUTPUT.
# Written only when it changed, so that nothing is compiled for nothing.
execute_process(COMMAND git -c "safe.directory=*" --no-optional-locks -C ${SOURCE}
        describe --tags --always --dirty
    OUTPUT_VARIABLE described ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE result)
if(NOT result EQUAL 0 OR NOT described MATCHES "^[A-Za-z0-9._-]+$")
    set(described v${VERSION}) # not a clone, or no git
endif()
set(text "#define BWTOOL_GIT_VERSION \"${described}\"\n")
set(before "")
if(EXISTS ${OUTPUT})
    file(READ ${OUTPUT} before)
endif()
if(NOT before STREQUAL text)
    file(WRITE ${OUTPUT} "${text}")
endif()
