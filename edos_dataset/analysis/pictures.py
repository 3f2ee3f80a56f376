"""x"""
def draw_pictures(figures, folder): pass
