# Writes ${output}: a hash of the ${archives}, as a function.
set(digests "")
foreach(archive ${archives})
    file(SHA256 ${archive} digest)
    string(APPEND digests ${digest})
endforeach()
string(SHA256 digest "${digests}")
file(WRITE ${output} "#include \"sim/cli/model_identity.h\"\n\nconst char* heddle::cli::model_identity() {\n    return \"${digest}\";\n}\n")
