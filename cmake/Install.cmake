# What `cmake --install` puts where: the program with its hardware files, page and completions (component runtime), and the
# libraries of the rooms with their headers for find_package(heddle) (component development). Last of the CMake files.

# heddle::isa, heddle::models, heddle::workloads and heddle::sim: all that a room has.
foreach(room isa models workloads sim)
    get_property(libraries GLOBAL PROPERTY HEDDLE_ROOM_${room})
    add_library(heddle_${room} INTERFACE)
    target_link_libraries(heddle_${room} INTERFACE ${libraries})
    add_library(heddle::${room} ALIAS heddle_${room})
    heddle_export(${room})
    install(DIRECTORY ${room} DESTINATION include/heddle COMPONENT development FILES_MATCHING PATTERN "*.h"
            PATTERN sim/cli EXCLUDE PATTERN sim/clusters EXCLUDE
            PATTERN workloads/tracers EXCLUDE PATTERN assets EXCLUDE)
endforeach()
heddle_export(systemc)

include(CMakePackageConfigHelpers)
configure_package_config_file(cmake/heddle-config.cmake.in ${CMAKE_BINARY_DIR}/heddle-config.cmake
    INSTALL_DESTINATION lib/cmake/heddle)
# Before 1.0 a minor version may change what is declared.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/heddle-config-version.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT heddle NAMESPACE heddle:: FILE heddle-targets.cmake DESTINATION lib/cmake/heddle COMPONENT development)
install(FILES ${CMAKE_BINARY_DIR}/heddle-config.cmake ${CMAKE_BINARY_DIR}/heddle-config-version.cmake
        DESTINATION lib/cmake/heddle COMPONENT development)

install(DIRECTORY sim/hardware sim/clusters DESTINATION share/heddle COMPONENT runtime FILES_MATCHING PATTERN "*.yaml")
install(DIRECTORY workloads/tracers/heddle_trace DESTINATION share/heddle/tracers COMPONENT runtime FILES_MATCHING PATTERN "*.py")
install(FILES workloads/tracers/pyproject.toml DESTINATION share/heddle/tracers COMPONENT runtime)
install(FILES README.md CHANGELOG.md DESTINATION share/doc/heddle COMPONENT runtime)
install(FILES LICENSE DESTINATION share/doc/heddle RENAME copyright COMPONENT runtime)
install(DIRECTORY docs DESTINATION share/doc/heddle COMPONENT runtime)
install(DIRECTORY examples DESTINATION share/doc/heddle COMPONENT runtime)

# The manual page and the completions are made by the program that they describe. Debian's zsh looks for those of packages
# in a folder of their own.
install(CODE "
    set(heddle $<TARGET_FILE:heddle>)
    set(prefix \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share)
    set(zsh site-functions)
    if(CMAKE_INSTALL_PREFIX MATCHES \"/usr/?\$\")
        set(zsh vendor-completions)
    endif()
    foreach(page \"man|man/man1/heddle.1\" \"completion bash|bash-completion/completions/heddle\"
            \"completion zsh|zsh/\${zsh}/_heddle\" \"completion fish|fish/vendor_completions.d/heddle.fish\")
        string(REGEX REPLACE \"^(.*)[|](.*)\$\" \"\\\\2\" file \"\${page}\")
        string(REGEX REPLACE \"^(.*)[|](.*)\$\" \"\\\\1\" command \"\${page}\")
        separate_arguments(command)
        get_filename_component(folder \${prefix}/\${file} DIRECTORY)
        file(MAKE_DIRECTORY \${folder})
        execute_process(COMMAND \${heddle} \${command} OUTPUT_FILE \${prefix}/\${file} COMMAND_ERROR_IS_FATAL ANY)
        message(STATUS \"Installing: \${prefix}/\${file}\")
    endforeach()" COMPONENT runtime)
