# Deliberate bugs. A file of tests/sim/mutations is a sentence, `source: <path>`, and between
# lines of <<<<, ==== and >>>> the exact text that must be in that source once, and what takes
# its place.
#
#   mesita_mutate(<file> <folder>)  writes the copy with the bug to <folder>/<path>; sets
#                                   MUTATED_SOURCE and MUTATED_COPY
#
# In builds: -DMESITA_MUTATION=<name>. As a script (tests/sim/mutate):
#   cmake -DFILE=<file> -DINTO=<folder> -P mutation.cmake     prints the path of the source
#   cmake -DCHECK=<folder of mutations> -P mutation.cmake     says which do not apply
get_filename_component(mesita_root "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

# Its `path`, `old` and `new` text and the `source`; `wrong` is not empty if it does not apply.
macro(mesita_read_mutation file)
  set(wrong "")
  file(READ "${file}" text)
  string(REGEX MATCH "source: ([^\n]+)\n" ignored "${text}")
  set(path "${CMAKE_MATCH_1}")
  string(FIND "${text}" "<<<<\n" begin)
  string(FIND "${text}" "====\n" middle)
  string(FIND "${text}" ">>>>\n" end)
  if(begin LESS 0 OR middle LESS begin OR end LESS middle)
    set(wrong "${file} has no <<<<, ==== and >>>> in this order")
  elseif(NOT EXISTS "${mesita_root}/${path}")
    set(wrong "${file}: there is no ${path}")
  else()
    math(EXPR begin "${begin} + 5")
    math(EXPR length "${middle} - ${begin}")
    string(SUBSTRING "${text}" ${begin} ${length} old)
    math(EXPR middle "${middle} + 5")
    math(EXPR length "${end} - ${middle}")
    string(SUBSTRING "${text}" ${middle} ${length} new)
    file(READ "${mesita_root}/${path}" source)
    string(FIND "${source}" "${old}" first)
    string(FIND "${source}" "${old}" last REVERSE)
    if(first LESS 0 OR NOT first EQUAL last)
      set(wrong "the old text of ${file} is not in ${path} exactly once")
    endif()
  endif()
endmacro()

function(mesita_mutate file folder)
  mesita_read_mutation("${file}")
  if(wrong)
    message(FATAL_ERROR "${wrong}")
  endif()
  string(REPLACE "${old}" "${new}" source "${source}")
  file(WRITE "${folder}/${path}" "${source}")
  set(MUTATED_SOURCE "${mesita_root}/${path}" PARENT_SCOPE)
  set(MUTATED_COPY "${folder}/${path}" PARENT_SCOPE)
  set(MUTATED_PATH "${path}" PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE AND FILE)
  mesita_mutate("${FILE}" "${INTO}")
  execute_process(COMMAND "${CMAKE_COMMAND}" -E echo "${MUTATED_PATH}")
elseif(CMAKE_SCRIPT_MODE_FILE AND CHECK)
  file(GLOB files "${CHECK}/*")
  set(failed FALSE)
  foreach(file IN LISTS files)
    mesita_read_mutation("${file}")
    if(wrong)
      message("${wrong}")
      set(failed TRUE)
    endif()
  endforeach()
  if(failed)
    message(FATAL_ERROR "mutations do not apply")
  endif()
endif()
