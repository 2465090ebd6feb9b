(section . (atx_heading heading_content: (_) @name)) @definition.section
(section . (setext_heading heading_content: (_) @name)) @definition.section
(document (section) @region)
(section (section) @region)
