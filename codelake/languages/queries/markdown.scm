(section . (atx_heading heading_content: (_) @name)) @definition.section
; A heading that is underlined opens no section of its own in this grammar.
(setext_heading heading_content: (_) @name) @rest.section
(section) @region
