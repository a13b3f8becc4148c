# Support for shells: man pages and completion, both made by running the
# programs, in share/ of the build and of the installation.

# The date of man pages, and of debian/changelog in the package.
set(MPOPT_DATE 2026-11-28)

set(MPOPT_COMPLETION_bash bash-completion/completions/@PROGRAM@)
set(MPOPT_COMPLETION_zsh zsh/site-functions/_@PROGRAM@)
set(MPOPT_COMPLETION_fish fish/vendor_completions.d/@PROGRAM@.fish)

# mp_completion(PROGRAM): for each shell, by --print-completion.
function(mp_completion PROGRAM)
  foreach(shell bash zsh fish)
    string(CONFIGURE ${MPOPT_COMPLETION_${shell}} name @ONLY)
    set(file ${CMAKE_BINARY_DIR}/share/${name})
    cmake_path(GET name PARENT_PATH folder)
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share/${folder})
    add_custom_command(OUTPUT ${file}
      COMMAND ${PROGRAM} --print-completion=${shell} > ${file}
      DEPENDS ${PROGRAM} VERBATIM)
    set_property(GLOBAL APPEND PROPERTY MPOPT_SHELL_FILES ${file})
    install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder}
            COMPONENT programs)
  endforeach()
endfunction()

# mp_man_page(PROGRAM [COMMAND name] [SEE pages...] [options of make_man.py...])
function(mp_man_page program)
  cmake_parse_arguments(ARG "" "COMMAND" "SEE" ${ARGN})
  string(REPLACE ";" "-" name "${program};${ARG_COMMAND}")
  string(REGEX REPLACE "-$" "" name ${name})
  set(file ${CMAKE_BINARY_DIR}/share/man/man1/${name}.1)
  set(script ${CMAKE_SOURCE_DIR}/scripts/make_man.py)
  list(JOIN ARG_SEE , see)
  add_custom_command(OUTPUT ${file}
    COMMAND Python3::Interpreter -B ${script} --date=${MPOPT_DATE}
            --output=${file} --see=${see} ${ARG_UNPARSED_ARGUMENTS}
            $<TARGET_FILE:${program}> ${ARG_COMMAND}
    DEPENDS ${program} ${script} VERBATIM)
  mp_install_man_page(${file})
endfunction()

function(mp_install_man_page file)
  set_property(GLOBAL APPEND PROPERTY MPOPT_SHELL_FILES ${file})
  install(FILES ${file} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
          COMPONENT programs)
endfunction()

# Programs with sanitizers are for tests only, and they run slowly.
if(MPOPT_SANITIZE)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share/man/man1)

mp_completion(mp-opt)
mp_completion(mp-run)
set(opt_commands attribute bisect diff reduce tune)
list(TRANSFORM opt_commands REPLACE "(.+)" "mp-opt-\\1" OUTPUT_VARIABLE pages)
mp_man_page(mp-opt --topics=train,code,data
            SEE ${pages} mp-run mp-opt-lsp-server)
foreach(command IN LISTS opt_commands)
  mp_man_page(mp-opt COMMAND ${command} SEE mp-opt)
endforeach()
set(commands run bench compare train plan show)
list(TRANSFORM commands REPLACE "(.+)" "mp-run-\\1" OUTPUT_VARIABLE pages)
mp_man_page(mp-run --no-table SEE mp-opt ${pages})
foreach(command IN LISTS commands)
  mp_man_page(mp-run COMMAND ${command} --like=run SEE mp-run mp-opt)
endforeach()
configure_file(${CMAKE_SOURCE_DIR}/tools/mp-opt-lsp-server/mp-opt-lsp-server.1.in
               ${CMAKE_BINARY_DIR}/share/man/man1/mp-opt-lsp-server.1 @ONLY)
mp_install_man_page(${CMAKE_BINARY_DIR}/share/man/man1/mp-opt-lsp-server.1)

get_property(files GLOBAL PROPERTY MPOPT_SHELL_FILES)
add_custom_target(mp-opt-shell ALL DEPENDS ${files})
