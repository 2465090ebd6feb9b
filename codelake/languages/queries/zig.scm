(Decl (VarDecl variable_type_function: (_) @name (ErrorUnionExpr (SuffixExpr (ContainerDecl (ContainerDeclType . "enum")) @body)))) @definition.enum
(Decl (VarDecl variable_type_function: (_) @name (ErrorUnionExpr (SuffixExpr (ContainerDecl) @body)))) @definition.struct
(Decl (VarDecl "const" variable_type_function: (_) @name)) @definition.constant
(Decl (VarDecl "var" variable_type_function: (_) @name)) @definition.variable
(Decl (FnProto function: (_) @name (ParamDeclList) @parameters) (Block)? @body) @definition.function
(TestDecl (STRINGLITERALSINGLE) @name (Block) @body) @definition.function
