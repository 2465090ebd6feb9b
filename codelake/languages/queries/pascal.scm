[(interface) (implementation) (declTypes) (declConsts) (declSection)] @region
(declType name: (_) @name type: (declClass (kClass)) @body) @definition.class
(declType name: (_) @name type: (declClass (kRecord)) @body) @definition.struct
(declType name: (_) @name type: (declIntf) @body) @definition.interface
(declType name: (_) @name) @definition.type
(declConst name: (_) @name) @definition.constant
(defProc header: (declProc name: (_) @name args: (_)? @parameters) body: (_) @body) @definition.function
(declClass (declProc name: (_) @name) @definition.method)
(declSection (declProc name: (_) @name) @definition.method)
