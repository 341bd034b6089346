# Read by cpack before it packs (CPACK_PROJECT_CONFIG_FILE): which tools are missing, and how to get them. cpack itself fails
# after the files have been copied, and does not name them.
if(CPACK_GENERATOR STREQUAL "DEB")
    foreach(tool dpkg-shlibdeps file)
        find_program(found_${tool} ${tool})
        if(NOT found_${tool})
            message(FATAL_ERROR "cpack needs ${tool} to find what the package depends on: apt-get install dpkg-dev file")
        endif()
    endforeach()
endif()
